"""Scores of whole sentences, by the formulas of `inference.scorings`."""
