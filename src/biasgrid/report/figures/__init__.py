"""Figures: one module each, with `CAPTION` and `figure`, found by its name; only these modules
import plotnine.
"""
