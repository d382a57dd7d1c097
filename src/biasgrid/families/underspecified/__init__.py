"""Underspecified questions (UnQover; Li et al., Findings of EMNLP 2020).

A context names two subjects, a question asks which of them has an attribute, and nothing in the
context answers it: a preference for one of the two is the model's own.
"""
