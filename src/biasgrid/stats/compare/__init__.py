"""Models against models: how they differ, and whether one can tell."""
