"""The problem of a fit: its settings, its sizes, and the coordinates of its nodes."""
