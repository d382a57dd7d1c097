"""Runs: where their files are, what they cost, how far they are, and what they have made."""
