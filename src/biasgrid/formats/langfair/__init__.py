"""Word lists of LangFair (cvs-health/langfair), as files of words that datasets name."""
