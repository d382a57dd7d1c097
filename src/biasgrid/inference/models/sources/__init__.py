"""Where the answers of models come from, a file for each source."""
