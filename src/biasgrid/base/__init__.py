"""What all that reads users' files needs: faults, files, texts, YAML, sections of a config, names and arrays."""
