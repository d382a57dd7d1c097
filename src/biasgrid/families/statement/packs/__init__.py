"""Packs of statements: how their files are read, and which values go together in them."""
