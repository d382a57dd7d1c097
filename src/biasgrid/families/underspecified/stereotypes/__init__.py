"""Which groups stereotypes name, and how far models agree with them."""

AGREEMENT = "stereotype_agreement"
"""The measure."""
