"""What the file of a probe may contain, and its texts with placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from biasgrid.base.sections import Name, Section
from biasgrid.families.probe.files.evaluators import AnyEvaluator, letter_of
from biasgrid.families.probe.files.metrics import AnyMetric, MarkRanges

MOST_OPTIONS = 26
OPTIONS_PLACEHOLDER = "options"
"""The placeholder for the options."""
PROMPTS_KEY = "prompts"
"""The key of an item's prompts."""
PROBE_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
BRACE = re.compile(r"[{}]")
ItemKeys = dict[str, Any]


class Head(Section):
    """What a probe says beside its items."""

    title: str = Field(description="name of the probe")
    bias_type: str = Field(description="what its groups have in common, such as gender")
    section: str | None = Field(None, min_length=1, description="probes of one section are judged together")
    about: str | None = Field(None, description="what is asked, and what a number of it does not mean")
    warning: str | None = Field(None, description="what readers of its texts should know before")
    system: str | None = Field(None, min_length=1, description="system text of models that take one")
    question: str = Field(
        min_length=1,
        description="what is asked, with `{key}` for what an item has there and `{options}` for the options",
    )
    options: dict[str, str] = Field(
        default_factory=dict, max_length=MOST_OPTIONS, description="for each option its text, which may hold `{key}`"
    )
    orders: Literal["all"] | int = Field("all", description="in how many orders options are asked, or `all`")
    seed: int = Field(1, ge=0, description="which orders")
    prompts: list[ItemKeys] = Field(
        default_factory=list, description="keys of the prompts of each item that has no `prompts` of its own"
    )
    names: str = Field(
        "name",
        description="the key of items or prompts with the name, or other wording, that stands for a group: where names "
        "recur in several items, intervals are over these too",
    )
    evaluator: AnyEvaluator = Field(description="how answers are observed")
    metric: dict[Name, AnyMetric] = Field(min_length=1, description="numbers that are made of it, by name")
    marks: list[MarkRanges] = Field(default_factory=list, description="which values of these have which mark")

    @field_validator("marks", mode="before")
    @classmethod
    def _one_or_several(cls, marks: Any) -> Any:
        return [marks] if isinstance(marks, dict) else marks

    @field_validator("orders")
    @classmethod
    def _some_orders(cls, orders: Any) -> Any:
        if isinstance(orders, bool) or (isinstance(orders, int) and orders < 1):
            raise ValueError("expected `all`, or a number of at least 1")
        return orders


class ProbeSection(Head):
    """The file of a probe."""

    items: list[ItemKeys] = Field(min_length=1, description="what is asked about, by the keys of the question")


def placeholders(text: str) -> list[str]:
    """Returns the keys that a text needs, each once."""
    return list(dict.fromkeys(PROBE_PLACEHOLDER.findall(text)))


def has_stray_brace(text: str) -> bool:
    """Says whether a text has a brace outside a placeholder."""
    return BRACE.search(PROBE_PLACEHOLDER.sub("", text)) is not None


def fill_keys(text: str, keys: ItemKeys) -> str:
    """Puts keys into a text; what they hold is not looked at again."""
    return PROBE_PLACEHOLDER.sub(lambda found: str(keys[found[1]]), text)


def lettered_options(texts: Sequence[str]) -> str:
    """Writes options with their letters: `(a) Boys, (b) Girls`."""
    return ", ".join(f"({letter_of(place)}) {text}" for place, text in enumerate(texts))


def needed_placeholders(texts: Iterable[str]) -> list[str]:
    """Returns the keys that some texts need."""
    return list(dict.fromkeys(key for text in texts for key in placeholders(text)))
