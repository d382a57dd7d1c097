"""Prompts that are rewritten for every group, with several answers to each text.

In the order in which data flows: `family` (options, and how each model is asked), `group_words` and
`read` (words of groups, prompts), `ask` (instances, known effects), `observe` (scores and
similarities of answers), `measure` (numbers and checks) and `show` (evidence and page). Further
computations are in `similarity`, `words` and `score_distances`; `langfair` repeats LangFair.
"""
