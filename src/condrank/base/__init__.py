"""What every room may use: blocks of rows and threads, checks of values, files written whole, memory."""
