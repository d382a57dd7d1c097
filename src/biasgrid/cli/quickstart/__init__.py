"""One model, one command: what it is, which datasets are for it, a config for both, and its run in
stages.
"""
