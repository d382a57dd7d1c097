"""How causal language models are asked: their prompts, the options whose probabilities are read,
and written texts.
"""
