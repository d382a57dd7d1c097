"""The version, and what earlier versions called the names that users write and read: old -> new.

One list for the messages that refuse an old name, for the table in CHANGELOG.md, and for the comparison of results of
two versions (`tests/helpers/compare_results.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

VERSION = "0.2.0"
"""The version in which all of these changed."""
RENAMED_KEYS = {
    "planted": "synthetic",
    "relabellings": "permutations",
    "template_frames": "template_clusters",
}
"""Keys of the config."""
RENAMED_MEASURES = {
    "discoveries": "significant_tests",
    "eta_excess": "eta_corrected",
    "mu_excess": "mu_corrected",
    "score_distance_excess": "score_distance_corrected",
    "similarity_excess": "similarity_corrected",
    "similarity_floor": "similarity_null",
}
"""Measures, as in `thresholds` and in the column `measure`."""
RENAMED_FIGURES = {
    "clusters": "subject_groups",
    "discoveries": "significant_associations",
    "frames_left_out": "clusters_left_out",
    "frames_needed": "clusters_needed",
    "planted": "synthetic",
}
"""Figures, by the names of their files."""
RENAMED_COLUMNS = {
    "attribute_cluster": "attribute_group",
    "cluster1": "group1",
    "cluster2": "group2",
    "cut": "truncated",
    "floor": "null_mean",
    "frame": "cluster",
    "frames": "clusters",
    "other_cluster": "other_group",
    "over": "generalises_to",
    "pieces": "tokens",
    "subject_cluster": "subject_group",
}
"""Columns of tables."""
RENAMED_FOLDERS = {
    "able": "capabilities",
    "by_template": "sums",
    "follow_ups": "scorers",
    "frames": "design",
    "observations": "sums",
    "planted": "synthetic",
    "statistics": "measures",
    "template_clusters": "design",
    "variances": "design",
    "without_clusters": "sums",
    "without_frames": "sums",
}
"""Folders of results; what was in `statistics` is in `intervals` too."""
RENAMED_RULES = {
    "able": "capabilities",
    "follow_up": "scorer_texts",
    "plant": "synthetic",
    "predict_follow_up": "predict_scorer",
}
"""Rules, as in profiles and in logs."""


def new_name(name: str, allowed: Iterable[str]) -> str | None:
    """Returns the new name of a key, measure or figure, None where that is none of some allowed names."""
    names = set(allowed)
    return next(
        (table[name] for table in (RENAMED_KEYS, RENAMED_MEASURES, RENAMED_FIGURES) if table.get(name) in names), None
    )
