"""How many rows tables have and will have, without reading or making them: exact or estimated
numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.references import load, stage
from biasgrid.config import Config, clusters_of_variant
from biasgrid.families.family import Lists, PlannedInstances, TokenCounts
from biasgrid.inference.checkpoints.checkpoint import folder_of, read_record
from biasgrid.inference.checkpoints.cost import load_backend
from biasgrid.inference.models.masked.one_token import counts_in_sentence
from biasgrid.runs.layout import Layout

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Estimate:
    """A number, and whether it is exact.

    Attributes:
        value: the number, None where it is unknown.
        exact: False for an estimate; where something can only be less, such as texts that may turn
            out to be the same, the estimate is the largest it can be.
    """

    value: float | None
    exact: bool = True

    def times(self, factor: float | None, exact: bool = True) -> Estimate:
        """Multiplies with another number, which may be an estimate; unknown where one of the two
        is.
        """
        product = None if self.value is None or factor is None else self.value * factor
        return Estimate(product, self.exact and exact)


UNKNOWN_NUMBER = Estimate(None)
UNKNOWN_TOKENS = ("[UNK]", "<unk>")


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Adds estimates; the sum is unknown where a part is, and exact where all parts are."""
    parts = list(estimates)
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return UNKNOWN_NUMBER
    return Estimate(sum(values), all(part.exact for part in parts))


def json_data(value: Any) -> Any:
    """Turns dataclasses into what JSON can hold.

    An estimate `x` becomes two keys: `x`, the number or null, and `x_is`, `exact`, `about` or null
    where it is unknown.
    """
    if isinstance(value, list):
        return [json_data(part) for part in value]
    if not is_dataclass(value):
        return value
    content: dict[str, Any] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, Estimate):
            # An integer where no decimals are left.
            short = None if part.value is None else round(part.value, 3)
            content[field.name] = int(short) if short is not None and short == int(short) else short
            content[f"{field.name}_is"] = (
                None if part.value is None else "exact" if part.exact else "about"
            )
        else:
            content[field.name] = json_data(part)
    return content


class TableFacts(NamedTuple):
    """A table's metadata: how many rows it has, and its provenance (empty if it carries none)."""

    rows: int
    provenance: dict[str, Any]


@dataclass(frozen=True)
class InstancesToAsk:
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
            (
                "\n\n".join(filter(None, (system, pair))),
                text,
                [word for word in words if word is not None],
            )
            for system, pair, text, *words in some.select(
                "system", "text_pair", "text", *names
            ).rows()
        ]


def table_facts(path: Path) -> TableFacts | None:
    """Reads a table's metadata alone, None where it is missing or not readable as Parquet."""
    if not path.exists():
        return None
    import pyarrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException):
        return None
    return TableFacts(
        metadata.num_rows, json.loads((metadata.metadata or {}).get(b"biasgrid", b"{}"))
    )


def count_instances(
    layout: Layout, lists: Mapping[tuple[str, str], Lists]
) -> dict[tuple[str, str], tuple[PlannedInstances, Estimate]]:
    """Counts the instances of datasets' variants from their word lists.

    Where a tokenizer decides which subjects are kept, the count is exact if that tokenizer is at
    hand, or if the instances table was made from these word lists; else it is estimated as that of
    all subjects.

    Args:
        layout: where files lie.
        lists: the word lists by dataset and variant.

    Returns:
        By dataset and variant what is asked, and the count.
    """
    config = layout.config
    tokenizers = {variant: config.needed_variants[variant].tokenizer for variant in lists}
    counters = {
        name: token_counter(layout, name) for name in set(tokenizers.values()) if name is not None
    }
    counts: dict[tuple[str, str], tuple[PlannedInstances, Estimate]] = {}
    for (dataset, variant), content in lists.items():
        name = tokenizers[dataset, variant]
        counted = instances_to_ask(
            config.reference_of_family(dataset), content, counters[name] if name else None
        )
        table = layout.instances(dataset, variant)
        exact = name is None or counters[name] is not None
        facts = None if exact else table_facts(table)
        if facts is not None and facts.provenance.get("word_lists") == content.digest():
            counts[dataset, variant] = counted, Estimate(facts.rows)
        else:
            counts[dataset, variant] = counted, Estimate(counted.instances, exact)
    return counts


def instances_to_ask(
    family: str, lists: Lists, token_counts: TokenCounts | None
) -> PlannedInstances:
    """Returns the instances that lists make: from their family's own count or, without one, by
    expanding them.
    """
    reading = load(stage(family, "reading"))
    if not hasattr(reading, "planned_instances"):
        import polars as pl

        return InstancesToAsk(pl.concat(load(stage(family, "expand")).expand(lists).parts))
    counted: PlannedInstances = reading.planned_instances(lists, token_counts)
    return counted


def token_counter(layout: Layout, name: str) -> TokenCounts | None:
    """Returns what counts the tokens of words, None where the tokenizer's tokenizer.json is not at
    hand.
    """
    entry = layout.config.tokenizers[name]
    folder = checkpoint_folder(layout.record("tokenizers", name), entry.folder)
    backend = load_backend(folder / "tokenizer.json") if folder else None
    if backend is None or (
        entry.mask and backend.token_to_id(entry.mask) not in backend.encode(entry.mask).ids
    ):
        return None
    ids = (backend.token_to_id(token) for token in UNKNOWN_TOKENS)
    unknown = next((number for number in ids if number is not None), None)
    return partial(counts_in_sentence, backend, entry.mask, unknown)


def checkpoint_folder(record: Path, folder: str | None) -> Path | None:
    """Returns where a checkpoint is on this machine: from its record, or the folder that the config
    names.

    Returns:
        The folder, None where the checkpoint has not been fetched or made, or is gone.
    """
    if not record.exists():
        return Path(folder) if folder else None
    try:
        return folder_of(read_record(record))
    except UserError:
        return None


def sample_notes(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[str]:
    """Yields what can be tested of the sample of each dataset and variant that has one.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    for (dataset, variant), content in lists.items():
        clusters = partial(clusters_of_variant, config, lists, dataset, variant)
        # Of variants that only trained models learn nothing is tested.
        is_asked = (dataset, variant) in config.selected_variants
        if is_asked and (told := config.family(dataset).sampled(content, clusters)):
            yield f"{dataset} ({variant}), sample of {told}"
