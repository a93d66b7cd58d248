"""What every other package may use: blocks of rows, threads, checks, atomic files, memory, measured constants."""
