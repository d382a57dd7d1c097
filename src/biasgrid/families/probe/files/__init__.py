"""Files of probes: what may stand in them, and what is wrong with them."""
