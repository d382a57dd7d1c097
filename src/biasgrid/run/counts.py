"""How many rows tables have, and will have, without reading or making them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from biasgrid.checkpoints.checkpoint import ModelError, folder_of, read_record
from biasgrid.checkpoints.cost import load_backend
from biasgrid.families.counterfactual.packs import Pack
from biasgrid.families.underspecified.design import Design, OneToken, design_of
from biasgrid.families.underspecified.word_lists import WordLists
from biasgrid.models.masked.one_token import fill_mask_place
from biasgrid.run.estimates import Figure
from biasgrid.run.layout import Layout

MASK = "[MASK]"
SAMPLED_CASES = 16
UNKNOWN_TOKENS = ("[UNK]", "<unk>")


class Facts(NamedTuple):
    """What a table's metadata tell: how many rows it has and its provenance (empty where it carries none)."""

    rows: int
    provenance: dict[str, Any]


class Asked(Protocol):
    """What a dataset's variant asks: how many instances there are, and texts of some of them."""

    @property
    def instances(self) -> int:
        """How many instances there are."""

    def sample(self, count: int) -> Sequence[tuple[str, str, Sequence[str]]]:
        """Returns the fields of `checkpoints.cost.Text` of about `count` instances."""


@dataclass(frozen=True)
class Cases:
    """What a pack asks."""

    pack: Pack

    @property
    def instances(self) -> int:
        """How many instances there are."""
        return self.pack.instances

    def sample(self, count: int) -> list[tuple[str, str, Sequence[str]]]:
        """Returns second and first input and targets of `count` instances of cases, spread evenly over the pack."""
        from biasgrid.families.counterfactual.expand import candidates_of, expand_cases

        steps = min(SAMPLED_CASES, self.pack.cases)
        rows = []
        for step in range(steps):
            case = self.pack.cases * step // steps
            instances = expand_cases(self.pack, case, case + 1)
            columns = instances.select("text_pair", "text", *candidates_of(self.pack))
            rows += columns.gather_every(max(1, len(instances) * steps // count)).rows()
        # Every tokenizer writes its mask otherwise; any word stands for that one token.
        return [
            (context or "", text.replace(MASK, "it"), [word for word in words if word is not None])
            for context, text, *words in rows
        ]


def table_facts(path: Path) -> Facts | None:
    """Reads a table's metadata alone, None where it is missing or not readable as Parquet."""
    if not path.exists():
        return None
    import pyarrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException):
        return None
    return Facts(metadata.num_rows, json.loads((metadata.metadata or {}).get(b"biasgrid", b"{}")))


def count_instances(
    layout: Layout, lists: Mapping[tuple[str, str], WordLists | Pack]
) -> dict[tuple[str, str], tuple[Asked, Figure]]:
    """Counts the instances of datasets' variants from their word lists.

    Where a tokenizer decides which subjects are kept, the count is exact if that tokenizer is at hand, or if the
    instances table was made from these word lists; else it is an upper bound, for all subjects.

    Args:
        layout: where files lie.
        lists: the word lists by dataset and variant.

    Returns:
        By dataset and variant what is asked, and the count.
    """
    underspecified = [variant for variant, content in lists.items() if isinstance(content, WordLists)]
    tokenizers = {variant: layout.config.filtering_tokenizer(*variant) for variant in underspecified}
    one_token = {name: one_token_of(layout, name) for name in set(tokenizers.values()) if name is not None}
    counts: dict[tuple[str, str], tuple[Asked, Figure]] = {}
    for variant, content in lists.items():
        if isinstance(content, Pack):
            counts[variant] = Cases(content), Figure(content.instances)
            continue
        name = tokenizers[variant]
        design = design_of(content, one_token[name] if name else None)
        exact = name is None or one_token[name] is not None
        counts[variant] = design, Figure(design.instances) if exact else count_all(layout, variant, content, design)
    return counts


def count_all(layout: Layout, variant: tuple[str, str], lists: WordLists, design: Design) -> Figure:
    """Counts the instances of a design from which subjects may be dropped."""
    facts = table_facts(layout.instances(*variant))
    if facts is not None and facts.provenance.get("word_lists") == lists.digest():
        return Figure(facts.rows)
    return Figure(design.instances, "at most")


def one_token_of(layout: Layout, name: str) -> OneToken | None:
    """Returns what tells the one-token words of a family's tokenizer, None where its tokenizer.json is not at hand."""
    entry = layout.config.tokenizers[name]
    folder = checkpoint_folder(layout.record("tokenizers", name), entry.folder)
    backend = load_backend(folder / "tokenizer.json") if folder else None
    mask = backend.token_to_id(entry.mask) if backend else None
    if backend is None or mask is None or mask not in backend.encode(entry.mask).ids:
        return None
    ids = (backend.token_to_id(token) for token in UNKNOWN_TOKENS)
    unknown = next((number for number in ids if number is not None), None)
    return partial(fill_mask_place, backend, (entry.mask, mask), unknown)


def checkpoint_folder(record: Path, folder: str | None) -> Path | None:
    """Returns where a checkpoint is on this machine: as its record tells, or the folder that the config names.

    Returns:
        The folder, None where the checkpoint has not been fetched or made, or is gone.
    """
    if not record.exists():
        return Path(folder) if folder else None
    try:
        return folder_of(read_record(record))
    except (ModelError, ValueError):
        return None
