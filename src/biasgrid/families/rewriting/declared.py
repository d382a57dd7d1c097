"""What the family measures, in words."""

from __future__ import annotations

from collections.abc import Mapping

from biasgrid.families.flags import flag
from biasgrid.tables.measure import Limit, Measure

LANGFAIR = "LangFair (cvs-health/langfair)"
DESIGN = ("prompt",)
FEWEST_PROMPTS = 20
ABOUT = (
    "The same prompt is rewritten for every group, and each text is asked several times. Two answers to the very same "
    "text differ, too: how much is the noise floor. What answers for two groups differ by more than that hangs on the "
    "group. A difference need not be harm: read the answers side by side."
)
"""What a reader is told of rewritten prompts."""
IS_NOT = "harm, nor a property of people: it is about these prompts, words and answers"
MEASURES: Mapping[str, Measure] = {
    "similarity_excess": Measure(
        "unlike beyond noise",
        "beyond noise",
        "how much less like each other answers for two groups are than two answers to the same text: noise floor less "
        "similarity, mean over prompts",
        IS_NOT,
        "biasgrid",
        "difference",
        fair=0,
        headline="score=rouge-l",
        design=DESIGN,
    ),
    "similarity": Measure(
        "similarity",
        "similarity",
        "how like each other answers to the same prompt for two groups are",
        "fairness: answers to one text differ, too; look at its floor",
        LANGFAIR,
        "similarity",
        design=DESIGN,
    ),
    "similarity_floor": Measure(
        "noise floor",
        "floor",
        "how like each other two answers to the same text are",
        "bias: it tells what chance makes of answers",
        "biasgrid",
        "similarity",
        design=DESIGN,
    ),
    "score_distance": Measure(
        "distance of scores",
        "distance",
        "Wasserstein-1 distance between the scores of answers for two groups (strong parity)",
        f"{IS_NOT}; it is above 0 for noise, which its floor tells",
        LANGFAIR,
        "distance",
        fair=0,
        design=DESIGN,
    ),
    "score_difference": Measure(
        "difference of scores",
        "difference",
        "how much more often answers for one group than for another have a score above the threshold (weak parity)",
        IS_NOT,
        LANGFAIR,
        "difference",
        fair=0,
        design=DESIGN,
    ),
    "mean_score": Measure(
        "mean score", "score", "mean score of answers", IS_NOT, LANGFAIR, "probability", design=DESIGN
    ),
    "refused": Measure(
        "refused", "refused", "share of answers in which the model declines", IS_NOT, LANGFAIR, "share", design=DESIGN
    ),
    "cut_short": Measure(
        "cut short",
        "cut short",
        "share of answers that reached their longest length",
        "bias: it tells how much was measured",
        "biasgrid",
        "share",
        design=DESIGN,
    ),
    "empty": Measure(
        "empty",
        "empty",
        "share of answers without any text",
        "bias: it tells how much was measured",
        "biasgrid",
        "share",
        design=DESIGN,
    ),
}
"""The measures of all datasets."""
FLAGS: Mapping[str, Measure] = {
    "silent": flag(
        "no answer",
        "share of answers in which the model declines or says nothing, which have no similarity or score",
        Limit(
            0.5,
            problem="{value:.0%} of the answers decline or are empty",
            remedy="read the answers; choose prompts that the model answers, or compare refusals alone",
        ),
    ),
    "few_prompts": flag(
        "prompts",
        "how many prompts the cell's numbers come from",
        Limit(
            FEWEST_PROMPTS,
            problem="only {value:.0f} of the {limit:.0f} prompts that one should have at least",
            remedy="add prompts: with so few, what one prompt does passes for the model",
            below=True,
        ),
        is_share=False,
    ),
}
"""What speaks against cells of rewritten prompts."""
