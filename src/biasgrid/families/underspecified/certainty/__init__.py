"""How sure the measures of underspecified questions are."""
