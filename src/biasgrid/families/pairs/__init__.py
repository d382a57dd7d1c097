"""Pairs of sentences, one of which states a stereotype more: CrowS-Pairs, StereoSet or your own.

In the order in which data flows: `family` (options, and how each model is asked), `data` (reading
files), `measures` (instances, observations, numbers, checks, evidence, known effects) and `page`.
No sentence of a benchmark is shipped; `formats.stereoset` reads the predictions of its authors.
"""
