"""Counterfactual cases (BiaXposer, Gaci et al.): the same text about different social groups.

A case is a template whose placeholders are filled. It is asked once per identity term, so that
whatever changes in a model's answer from group to group is the model's own.
"""
