"""Questions with three options, one of which is `unknown`: BBQ and its relatives.

In reading order: `family`; `section`; `items` and `reading`, which finds the module for the files
of a benchmark in `formats`; `expand`; `answers` and `observe`, which find the option that a model
chose; `measures`; `evidence` and `payload`; `synthetic`. No item of a benchmark is shipped: a user
names the files.
"""
