"""What figures share: their look, their context, the space for names and rows, and intervals."""
