"""Figures of the marks that cells get in place of numbers alone."""
