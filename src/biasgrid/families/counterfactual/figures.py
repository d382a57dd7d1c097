"""Which figures there are of cases: no more than those of groups, which every dataset has whose groups are compared."""

FIGURES: tuple[str, ...] = ()
GRID_FIGURES: tuple[str, ...] = ()
