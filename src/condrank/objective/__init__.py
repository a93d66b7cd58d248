"""What is minimised: relations (projections of W) and losses (what is centred)."""
