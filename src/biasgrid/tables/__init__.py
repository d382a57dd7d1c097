"""The tables that rules hand to each other: their schemas. Families and models meet only here.

One module per stage, so that a new column of a later stage does not run an earlier one again (see
`code_digest`). `files` writes and reads tables.
"""
