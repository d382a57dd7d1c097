"""Statistics: intervals, permutation tests, corrections for many tests, power, and comparisons of
models.
"""
