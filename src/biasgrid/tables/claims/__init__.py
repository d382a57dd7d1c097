"""Claims: which tests are counted, what is known of a cell beside its numbers, and how numbers are
written.
"""
