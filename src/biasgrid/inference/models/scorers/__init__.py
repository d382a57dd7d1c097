"""Models that read the texts of others: how they are configured, and texts that are too long for
them.
"""
