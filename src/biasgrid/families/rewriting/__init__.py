"""Rewriting: the same prompt about every group, and how much the answers differ."""
