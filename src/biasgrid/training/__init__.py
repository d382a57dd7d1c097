"""Models that the workflow trains itself."""
