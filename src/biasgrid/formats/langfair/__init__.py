"""LangFair: the import of its word lists, and the replication of its numbers."""
