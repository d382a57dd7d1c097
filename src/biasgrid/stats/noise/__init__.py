"""Where the variance of numbers over clusters comes from: sources, clusters that multiply all, and
noise that grows.
"""
