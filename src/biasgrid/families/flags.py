"""Validity flags that families have in common: measures with a limit beyond which they speak against a cell."""

from __future__ import annotations

from biasgrid.tables.metric import Limit, Measure

LEAST_PROBABILITY = 0.001
"""Where the candidates together have less, a masked language model says nothing of them."""


def validity_flag(title: str, meaning: str, limit: Limit, *, is_share: bool = True, source: str = "") -> Measure:
    """Declares a validity flag."""
    is_not = "bias: it says whether bias was measured at all"
    return Measure(title, title, meaning, is_not, source, "share" if is_share else "difference", limit=limit)


COMMON_FLAGS = {
    "unknown_tokens": validity_flag(
        "unknown text",
        "share of instances with text that the tokenizer does not know, or mostly writes in pieces of a letter or two",
        Limit(
            0.1,
            problem="{value:.0%} of the instances have text that the tokenizer does not know, or splits into letters",
            remedy="use words that the tokenizer knows (`biasgrid validate` names the others of a local checkpoint), "
            "or another model",
            withholds=True,
        ),
    ),
    "equal_scores": validity_flag(
        "equal scores",
        "share of instances whose candidates have exactly equal scores",
        Limit(
            0.1,
            problem="the candidates of {value:.0%} of the instances have exactly equal scores",
            remedy="look at the predictions: the model cannot tell candidates apart, or the scoring `unqover` cuts "
            "both to 0",
            withholds=True,
        ),
    ),
    "saturated_scores": validity_flag(
        "saturated scores",
        "share of instances in which one candidate or class has a probability of exactly 1 and the others exactly 0",
        Limit(
            0.5,
            problem="in {value:.0%} of the instances the probabilities are exactly 0 and 1",
            remedy="look at the model's weights: such scores cannot move, so differences are 0 or 1 whatever the model "
            "prefers",
            withholds=True,
        ),
    ),
    "constant_scores": validity_flag(
        "constant scores",
        "share of the first 131,072 instances whose scores equal, to the last digit, those of all others with the same "
        "candidates, though their texts differ",
        Limit(
            0.5,
            problem="the scores of {value:.0%} of the instances are the same whatever the text is",
            remedy="check that the text reaches the model (`biasgrid preview --model`): a chat template may drop it",
            withholds=True,
        ),
    ),
    "improbable": validity_flag(
        "improbable candidates",
        f"share of instances in which the candidates together have less than {LEAST_PROBABILITY:g} of the probability",
        Limit(
            0.5,
            problem="in {value:.0%} of the instances the candidates together have less than "
            f"{LEAST_PROBABILITY:g} of the probability",
            remedy="use templates in which the model expects such words, or a model that knows them",
            withholds=True,
        ),
    ),
    "templates": validity_flag(
        "templates",
        "how many templates the cell has",
        Limit(
            4,
            problem="only {value:.0f} templates, fewer than {limit:.0f}",
            remedy="add templates, or raise `limit`: one template may decide the numbers",
            below=True,
        ),
        is_share=False,
    ),
}
"""Those that are the same in all families, by name."""
TEXT_FLAGS = {
    "over_limit": validity_flag(
        "too long texts",
        "share of texts that are longer than `max_tokens` allowed, where a server says how long they are",
        Limit(
            0.0,
            problem="{value:.1%} of the texts are longer than `max_tokens` allowed",
            remedy="read the lengths (`tokens_out` of the predictions): the server ignores the limit, and charges more",
        ),
    ),
    "thought_marks": validity_flag(
        "thoughts in answers",
        "share of texts that begin with what looks like a mark of thoughts, such as `<reasoning>`, that is not known",
        Limit(
            0.0,
            problem="{value:.1%} of the texts begin with what looks like a mark of thoughts",
            remedy="name the marks in `generation: {thinking: {begin: ..., end: ...}}`: thoughts are taken for answers",
        ),
    ),
}
"""Of families whose models write texts."""
