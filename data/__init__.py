"""Scenarios as data: what happened, and the names it happened to."""
