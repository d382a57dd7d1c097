"""How many rows tables have, and will have, without reading or making them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.references import load, stage
from biasgrid.families.family import Asked, Lists, OneToken
from biasgrid.inference.checkpoints.checkpoint import folder_of, read_record
from biasgrid.inference.checkpoints.cost import load_backend
from biasgrid.inference.models.masked.one_token import fill_mask_place
from biasgrid.runs.estimates import Figure
from biasgrid.runs.layout import Layout

if TYPE_CHECKING:
    import polars as pl

UNKNOWN_TOKENS = ("[UNK]", "<unk>")


class Facts(NamedTuple):
    """What a table's metadata tell: how many rows it has and its provenance (empty where it carries none)."""

    rows: int
    provenance: dict[str, Any]


@dataclass(frozen=True)
class Expanded:
    """What is asked, as a table of instances."""

    table: pl.DataFrame

    @property
    def instances(self) -> int:
        """How many instances there are."""
        return len(self.table)

    def sample(self, count: int) -> list[tuple[str, str, list[str]]]:
        """Returns second text, text and candidates of about `count` instances, at even distances.

        A system text stands before the second text.
        """
        names = [name for name in self.table.columns if name.startswith("candidate")]
        some = self.table.gather_every(max(1, len(self.table) // count))
        return [
            ("\n\n".join(filter(None, (system, pair))), text, [word for word in words if word is not None])
            for system, pair, text, *words in some.select("system", "text_pair", "text", *names).rows()
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
    layout: Layout, lists: Mapping[tuple[str, str], Lists]
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
    config = layout.config
    tokenizers = {variant: config.needed_variants[variant].tokenizer for variant in lists}
    one_token = {name: one_token_of(layout, name) for name in set(tokenizers.values()) if name is not None}
    counts: dict[tuple[str, str], tuple[Asked, Figure]] = {}
    for (dataset, variant), content in lists.items():
        name = tokenizers[dataset, variant]
        asked = asked_of(config.reference_of_family(dataset), content, one_token[name] if name else None)
        table = layout.instances(dataset, variant)
        exact = name is None or one_token[name] is not None
        counts[dataset, variant] = asked, Figure(asked.instances) if exact else count_all(table, content, asked)
    return counts


def asked_of(family: str, lists: Lists, one_token: OneToken | None) -> Asked:
    """Returns what lists ask, as their family tells it, or by expanding them."""
    reading = load(stage(family, "reading"))
    if not hasattr(reading, "asked"):
        import polars as pl

        return Expanded(pl.concat(load(stage(family, "expand")).expand(lists).parts))
    asked: Asked = reading.asked(lists, one_token)
    return asked


def count_all(table: Path, lists: Lists, asked: Asked) -> Figure:
    """Counts the instances of what is asked, of which some may be dropped."""
    facts = table_facts(table)
    if facts is not None and facts.provenance.get("word_lists") == lists.digest():
        return Figure(facts.rows)
    return Figure(asked.instances, "at most")


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
    except UserError:
        return None
