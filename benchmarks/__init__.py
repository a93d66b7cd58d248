"""Measurements of condrank: every speed is a ratio against a floor that ran beside it in the same process.

``python -m benchmarks`` from the root of the repository; see README.md in this folder.
"""
