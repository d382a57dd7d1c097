"""The surroundings of a job's work: progress, locks, logs, a GPU, a digest of its code."""
