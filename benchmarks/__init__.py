"""Measurements of condrank. Every speed is a ratio to a floor that was measured beside it in the same process.

Run ``python -m benchmarks`` from the root of the repository; see README.md in this folder.
"""
