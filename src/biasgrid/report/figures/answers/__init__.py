"""Figures of answers to single questions: how sure they are, and whether they contradict each other."""
