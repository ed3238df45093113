"""The product's pacer against simulated people, in virtual time: `python -m benchmarks.dialler`."""
