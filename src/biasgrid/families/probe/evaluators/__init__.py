"""What stands in answers to a probe: evaluators, found by their names."""
