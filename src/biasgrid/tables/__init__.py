"""The tables that rules hand to each other: their schemas. Families and models meet only here.

One module per stage, so that a new column of a later stage does not run an earlier one again (see `code_digest`). How
tables are written and read is told in `table_files`.
"""
