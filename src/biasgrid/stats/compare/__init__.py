"""Comparisons of models: their differences, ranks and agreement, and numbers of references."""
