"""GenderBench's own probes, of the logs that it writes of them."""
