"""Where weights and tokenizers come from, and how they are loaded."""
