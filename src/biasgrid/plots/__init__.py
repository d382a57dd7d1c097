"""Figures: one module each, whose `figure` turns tables into a plot; only these modules import plotnine."""
