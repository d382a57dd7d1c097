"""Measures of social groups: scores of each group, distances between them, and what is compared
with what.
"""
