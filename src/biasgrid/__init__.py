"""Measures social bias in language models over a grid: models across, datasets down."""

__version__ = "0.1.0"
