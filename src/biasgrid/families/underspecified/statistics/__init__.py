"""How certain the measures of underspecified questions are, and where their variance is."""

from biasgrid.families.underspecified.statistics.cell import statistics

__all__ = ["statistics"]
