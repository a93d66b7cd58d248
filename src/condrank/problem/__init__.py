"""What is to be fitted: settings, sides and sizes of a problem, coordinates of its nodes."""
