"""Probes: free answers to prompts about groups, observed by evaluators and judged by marks."""
