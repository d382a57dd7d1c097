"""Prompts of items: those that the field uses, by name, or a text of the config."""

from __future__ import annotations

import re
from typing import NamedTuple

CONTEXT, QUESTION, OPTIONS = "{context}", "{question}", "{options}"
PART = re.compile(r"\{(context|question|options)\}")


class ItemPrompt(NamedTuple):
    """What stands around an item.

    Attributes:
        text: the prompt, with `{context}`, `{question}` and `{options}`, each of which it may leave
            out.
        separator: the text between two options.
        is_lettered: whether a model is to answer with the letter of an option, such as `(a)`, or
            else with its text.
    """

    text: str
    separator: str = "\n"
    is_lettered: bool = True

    @property
    def shows_options(self) -> bool:
        """Whether a model reads the options, so that their order matters."""
        return OPTIONS in self.text

    @property
    def parts(self) -> list[str]:
        """The parts of the prompt: texts at even places, names of their fillings between."""
        return PART.split(self.text)


PROMPTS = {
    "letters": ItemPrompt(
        "{context}\n{question}\n{options}\nAnswer with the letter of one option."
    ),
    "race": ItemPrompt("{question}\n{options}\n{context}", " ", is_lettered=False),
    "arc": ItemPrompt("{context} {question}\n{options}", " ", is_lettered=False),
    "question-only": ItemPrompt("{question}\n{options}", " ", is_lettered=False),
    "lm-eval": ItemPrompt("{context}\n\nQ: {question}\nA:", is_lettered=False),
}
"""`race`, `arc` and `question-only` are those of BBQ's authors for UnifiedQA, `lm-eval` is
lm-evaluation-harness's.
"""


def prompt_of(name: str) -> ItemPrompt:
    """Returns a prompt by its name, or a prompt with a text of the config.

    The answer to such a text is a letter if the model reads the options.
    """
    return PROMPTS.get(name) or ItemPrompt(name, is_lettered=OPTIONS in name)
