"""Families of datasets: what is asked, and how the answers become measures. A family never imports a model."""

FAMILIES = ("underspecified", "counterfactual")
"""The folders here, in the order in which documents name them."""
