"""What the workflow's rules are given: inputs, params and resources, as functions of a job's
wildcards.
"""
