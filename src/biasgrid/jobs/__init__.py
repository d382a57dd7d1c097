"""What a job needs around its work: progress, locks, logs, a GPU, a digest of its code."""
