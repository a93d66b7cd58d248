"""How a fit runs: parameters are read, a solver is planned and run, and the result becomes the fitted state."""
