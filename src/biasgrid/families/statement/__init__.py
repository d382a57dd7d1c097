"""Statements about people and their negations, with which a model agrees or not: APES.

A template whose parameters hold values is a statement, and its label says which answer is right.
Whoever answers a statement and its negation alike contradicts himself, whatever he thinks. What
APES alone does is `formats.apes.mode`.
"""
