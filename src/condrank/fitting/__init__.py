"""One way for a fit: plan, run, fitted state."""
