"""What all readers of users' files need: faults, files, texts, YAML, sections of a config, names
and arrays.
"""
