"""Associations of subjects and attributes: their swap groups, how large they are as a whole, where variance is."""
