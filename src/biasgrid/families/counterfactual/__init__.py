"""Counterfactual cases (BiaXposer, Gaci et al.): the same text about different social groups.

A case is a template whose placeholders are filled. It is asked once per identity term, so that
whatever changes in a model's answer from group to group is the model's own.

In the order in which data flows: `family` (options, and how each model is asked), `pack`,
`templates` and `read` (files), `ask` (instances, and known effects), `observe`, `measure` (numbers
and checks) and `show` (evidence and page).
"""
