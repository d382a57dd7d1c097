"""The commands of `biasgrid`: one module each."""
