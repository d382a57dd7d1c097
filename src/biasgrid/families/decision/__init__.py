"""Decisions about people, in which Yes is the favourable answer: discrim-eval.

In the order in which data flows: `family` (options, and which models are asked), `data` (reading
rows), `measures` (instances, observations, numbers, checks, evidence, known effects) and `page`.
"""
