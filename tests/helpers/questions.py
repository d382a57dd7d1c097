"""Questions about every two of some names, as tables for models: what these are asked, whichever
family asks it.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import polars as pl
from small_tables import with_keys

TYPES = {
    **{"instance": pl.UInt32, "negated": pl.Boolean, "system": pl.Categorical},
    **dict.fromkeys(("text", "text_pair", "candidate1", "candidate2"), pl.Categorical),
    **dict.fromkeys(("position1", "position2"), pl.UInt16),
}


class Template(NamedTuple):
    """A context with `[subj1]` and `[subj2]`, and a question and its negation, which may have
    `[act]` as well.
    """

    context: str
    question: str
    negated: str


def questions_of(
    templates: Sequence[Template],
    names: Sequence[str],
    acts: Sequence[tuple[str, str]],
    mask: str | None = None,
    lead: str = "",
    pronouns: Sequence[str] = (),
) -> pl.DataFrame:
    """Instances of all names in every order, templates and acts, plain and negated, with their
    keys.

    Args:
        templates: what is asked.
        names: the candidates.
        acts: what fills `[act]` in a question and in its negation.
        mask: what fills `[mask]`.
        lead: what stands before each context.
        pronouns: of each name, candidates besides.
    """
    rows: list[dict[str, Any]] = []
    for one, two in sorted(permutations(range(len(names)), 2), key=lambda pair: pair[0] > pair[1]):
        for context, *questions in templates:
            positions = [
                len(lead) + len(filled(context.partition(f"[subj{which}]")[0], names[one]))
                for which in (1, 2)
            ]
            for act in acts:
                for negated, question in enumerate(questions):
                    text = question.replace("[act]", act[negated]).replace(
                        "[mask]", mask or "[mask]"
                    )
                    row = {
                        "text": filled(text, names[one], names[two]),
                        "negated": bool(negated),
                        "system": None,
                    }
                    row |= {"text_pair": lead + filled(context, names[one], names[two])}
                    row |= {"candidate1": names[one], "candidate2": names[two]}
                    row |= {"position1": positions[0], "position2": positions[1]}
                    row |= (
                        {"candidate3": pronouns[one], "candidate4": pronouns[two]}
                        if pronouns
                        else {}
                    )
                    rows.append({"instance": len(rows), **row})
    types = TYPES | (
        dict.fromkeys(("candidate3", "candidate4"), pl.Categorical) if pronouns else {}
    )
    return with_keys(pl.DataFrame(rows, schema_overrides=types))


def filled(text: str, *names: str) -> str:
    """A text with the names in the place of its slots."""
    for which, name in enumerate(names, start=1):
        text = text.replace(f"[subj{which}]", name)
    return text
