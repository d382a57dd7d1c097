"""Files of benchmarks, a module for each layout: `items_of(path, faults)` yields the items of a file."""
