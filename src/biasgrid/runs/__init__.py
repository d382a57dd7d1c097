"""Runs: the places of their files, their costs, their progress and their results."""
