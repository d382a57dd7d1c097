"""Decisions about a person, in which Yes is the favourable answer: discrim-eval."""
