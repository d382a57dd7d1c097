"""What the files of a run say: where they lie, how many rows they have and will have, how far it is."""
