"""Numbers that are made of observations: each of sums over items, so that items can be weighted, or drawn again."""
