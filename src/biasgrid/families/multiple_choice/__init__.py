"""Questions about two people with three options, one of which is `unknown`: BBQ and its relatives.

In the order in which data flows: `family` (options, and how each model is asked), `items`,
`layouts` and `read` (files), `ask` (instances), `observe` (the option that an answer chooses, with
`bbq` for BBQ's own reading of written answers), `measure` (numbers and checks) and `show` (evidence
and page); `synthetic` has known effects. No item of a benchmark is shipped: a user names the files.
"""
