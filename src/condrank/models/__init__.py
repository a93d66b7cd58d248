"""Fitted models: what scores objects conditioned on nodes."""
