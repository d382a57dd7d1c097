"""The files of APES (github.com/goel-shashank/APES), read and written: examples, and predictions of
them.
"""
