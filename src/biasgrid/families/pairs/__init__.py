"""Pairs of sentences, one of which states a stereotype more: CrowS-Pairs, StereoSet, and pairs of
your own.

In reading order: `family`; `section`; `items` and `reading`, with a file of `layouts` for each kind
of file; `expand`; `observe`, which puts the scores of a pair's sentences side by side; `measures`
and, of StereoSet, `terms`; `evidence` and `payload`; `synthetic`; `published`, which imports
StereoSet's own predictions. No sentence of a benchmark is shipped: a user names the files.
"""
