"""Verdicts: which tests of a cell count, what is claimed of it, and the summary of a grid."""
