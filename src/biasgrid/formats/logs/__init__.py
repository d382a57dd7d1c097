"""Logs of other harnesses and records of results: samples to score again, word lists as tasks,
results to publish.
"""
