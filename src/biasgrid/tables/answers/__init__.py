"""What models say: one row per instance, in the schema of its answer kind; each kind is a module
here.
"""
