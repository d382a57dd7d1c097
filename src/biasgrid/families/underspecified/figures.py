"""Which figures there are of underspecified questions: names of modules of `biasgrid.plots`, in the report's order."""

FIGURES = ("ranks", "heat_map", "associations", "bipartite")
GRID_FIGURES = ("intensity_mu", "intensity_eta", "errors")
"""Those that compare the cells of all datasets."""
