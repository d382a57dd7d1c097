"""Logs of GenderBench (matus-pikuliak/genderbench), as tables of probes."""
