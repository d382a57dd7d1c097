"""Statements about people and their negations, with which a model agrees or not: APES.

A template whose parameters hold values is a statement, and its label says which answer is right.
Whoever answers a statement and its negation alike contradicts himself, whatever he thinks.

In the order in which data flows: `family` (options, and how each model is asked), `constraints` and
`pack` (types of what files hold), `read`, `ask` (instances and known effects), `observe`, `measure`
and `show` (evidence and page). `apes` repeats what APES alone does.
"""
