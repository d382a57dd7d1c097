"""Rewriting: the same prompt about every group, and how the answers differ beyond noise."""
