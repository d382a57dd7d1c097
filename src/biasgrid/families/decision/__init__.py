"""Decisions about a person of some age, gender and race, in which Yes is the favourable answer:
discrim-eval.
"""
