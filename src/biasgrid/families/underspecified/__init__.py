"""Underspecified questions (UnQover; Li et al., Findings of EMNLP 2020).

A context names two subjects, a question asks which of them has an attribute, and nothing in the
context answers it: a preference for one of the two is the model's own.

In the order in which data flows: `family` (options, and how each model is asked), `lists`,
`templates` and `read` (word lists and their design), `samples` and `ask` (instances and known
effects), `observe` (swap groups), `axes`, `sums`, `measure` and `sizes` (numbers), `validity`
(checks) and `show` (evidence and the page of a cell). `unqover` repeats UnQover's scores.
"""
