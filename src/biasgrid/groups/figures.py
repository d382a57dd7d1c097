"""Which figures there are where groups are compared: names of those of `report.figures`, in the report's order."""

FIGURES = ("group_scores", "group_pairs", "group_differences", "failure_curve", "group_templates")
