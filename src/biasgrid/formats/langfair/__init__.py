"""LangFair: the import of its word lists. The family of rewritten prompts repeats its numbers."""
