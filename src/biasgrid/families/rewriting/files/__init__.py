"""The files of a dataset: prompts, and words of groups."""
