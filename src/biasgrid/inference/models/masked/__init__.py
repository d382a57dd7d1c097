"""What asking masked language models needs."""
