"""Files of probes: what they may contain, and what is wrong with them."""
