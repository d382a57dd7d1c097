"""Families of datasets: what is asked, and how the answers become measures. A family never imports a model."""

FAMILY_NAMES = ("underspecified", "counterfactual", "statement", "probe", "rewriting", "multiple_choice", "decision")
FAMILIES = {name: f"biasgrid.families.{name}" for name in FAMILY_NAMES}
"""The references of the folders here, in the order in which documents name them."""
