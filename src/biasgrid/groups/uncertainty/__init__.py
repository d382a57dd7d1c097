"""How sure the measures of groups are: scores, signed differences, distances, failure rates."""
