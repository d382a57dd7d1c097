"""Figures of groups that are compared, for every family that compares them."""
