"""How files of pairs are written: each module yields the pairs of a file."""
