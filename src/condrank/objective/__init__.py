"""The objective that a fit minimises: relations (projections of W) and losses (what is centred)."""
