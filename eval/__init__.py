"""Benchmarks, and what else is generated from the code: `python -m eval` lists the commands."""
