"""What speaks against a cell of cases, in words."""

from __future__ import annotations

from collections.abc import Mapping

from biasgrid.families.counterfactual.tasks import CLASSIFICATION
from biasgrid.families.flags import COMMON_FLAGS, validity_flag
from biasgrid.tables.metric import Limit, Measure


def flags_of(task: str, classes: int) -> Mapping[str, Measure]:
    """Returns the validity flags of a dataset by name.

    Args:
        task: that of its models.
        classes: how many classes its classifiers have.
    """
    return {**COMMON_FLAGS, **flags_of_classifiers(classes)} if task == CLASSIFICATION else COMMON_FLAGS


def flags_of_classifiers(classes: int) -> Mapping[str, Measure]:
    """Returns those that only classifiers have."""
    return {
        "accuracy": validity_flag(
            "balanced accuracy",
            "mean over classes of the share of instances classified correctly",
            Limit(
                1 / classes,
                problem="balanced accuracy is {value:.2f} ({low:.2f} to {high:.2f} on {n} cases), chance {limit:.2f}",
                remedy="use a model that can do the task, or ask more cases",
                below=True,
                withholds=True,
            ),
            source="Wilson, JASA 1927, for the interval",
        ),
        "exchanged_labels": validity_flag(
            "exchanged labels",
            "how much balanced accuracy would grow if two classes were exchanged",
            Limit(
                0,
                problem="balanced accuracy would be {value:.2f} higher with two classes exchanged",
                remedy="compare the model's `labels` with the order of `id2label` in its checkpoint",
                withholds=True,
            ),
            is_share=False,
        ),
    }
