"""Counts the rows that tables have and will have, without reading or making them.

Numbers are exact or estimated.
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
from biasgrid.config import Config, variant_clusters
from biasgrid.families.family import Lists, PlannedInstances, TokenCounts
from biasgrid.inference.checkpoints.checkpoint import local_folder, read_record
from biasgrid.inference.checkpoints.cost import load_fast_tokenizer
from biasgrid.inference.models.masked.one_token import counts_in_sentence
from biasgrid.runs.layout import Layout

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Estimate:
    """A number, and whether it is exact.

    Attributes:
        value: the number, None if it is unknown.
        exact: False for an estimate; of something that can only be less, such as texts that may
            turn out to be the same, the estimate is the maximum.
    """

    value: float | None
    exact: bool = True

    def times(self, factor: float | None, exact: bool = True) -> Estimate:
        """Multiplies with another number, which may be an estimate.

        The product is unknown if one of the two is.
        """
        product = None if self.value is None or factor is None else self.value * factor
        return Estimate(product, self.exact and exact)


UNKNOWN_NUMBER = Estimate(None)
UNKNOWN_TOKENS = ("[UNK]", "<unk>")


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Adds estimates; the sum is unknown if a part is, and exact if all parts are."""
    parts = list(estimates)
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return UNKNOWN_NUMBER
    return Estimate(sum(values), all(part.exact for part in parts))


def json_data(value: Any) -> Any:
    """Converts dataclasses, and lists of them, to data for JSON.

    An estimate `x` becomes two keys: `x`, the number or null, and `x_is`, `exact`, `about` or null
    if it is unknown.
    """
    if isinstance(value, list):
        return [json_data(part) for part in value]
    if not is_dataclass(value):
        return value
    content: dict[str, Any] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, Estimate):
            content[field.name] = short_number(part)
            content[f"{field.name}_is"] = certainty_of(part)
        else:
            content[field.name] = json_data(part)
    return content


def short_number(estimate: Estimate) -> float | None:
    """Returns a number with three decimals, or as an integer if they are 0; None if unknown."""
    if estimate.value is None:
        return None
    short = round(estimate.value, 3)
    return int(short) if short == int(short) else short


def certainty_of(estimate: Estimate) -> str | None:
    """Returns `exact` or `about`; None if the number is unknown."""
    if estimate.value is None:
        return None
    return "exact" if estimate.exact else "about"


class TableFacts(NamedTuple):
    """A table's metadata: its number of rows, and its provenance (empty if it carries none)."""

    rows: int
    provenance: dict[str, Any]


@dataclass(frozen=True)
class InstancesToAsk:
    """Instances as a table, for families that cannot count them without expanding them."""

    table: pl.DataFrame

    @property
    def instances(self) -> int:
        """The number of instances."""
        return len(self.table)

    def sample(self, count: int) -> list[tuple[str, str, list[str]]]:
        """Returns second text, text and candidates of about `count` instances, at even distances.

        A system text stands before the second text.
        """
        names = [name for name in self.table.columns if name.startswith("candidate")]
        rows = self.table.gather_every(max(1, len(self.table) // count))
        samples = []
        for system, pair, text, *words in rows.select("system", "text_pair", "text", *names).rows():
            context = "\n\n".join(part for part in (system, pair) if part)
            # Instances may have fewer candidates than others of their table.
            samples.append((context, text, [word for word in words if word is not None]))
        return samples


def table_facts(path: Path) -> TableFacts | None:
    """Reads a table's metadata alone, None if it is missing or not readable as Parquet."""
    if not path.exists():
        return None
    import pyarrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException):
        return None
    provenance = json.loads((metadata.metadata or {}).get(b"biasgrid", b"{}"))
    return TableFacts(metadata.num_rows, provenance)


def count_instances(
    layout: Layout, lists: Mapping[tuple[str, str], Lists]
) -> dict[tuple[str, str], tuple[PlannedInstances, Estimate]]:
    """Counts the instances of datasets' variants from their word lists.

    If a tokenizer decides which subjects are kept, the count is exact if that tokenizer is at hand,
    or if the instances table was made from these word lists; else all subjects are counted.

    Args:
        layout: the places of files.
        lists: the word lists by dataset and variant.

    Returns:
        The instances and their count, by dataset and variant.
    """
    config = layout.config
    tokenizers = {variant: config.needed_variants[variant].tokenizer for variant in lists}
    counters = {
        name: token_counter(layout, name) for name in set(tokenizers.values()) if name is not None
    }
    counts: dict[tuple[str, str], tuple[PlannedInstances, Estimate]] = {}
    for (dataset, variant), content in lists.items():
        tokenizer = tokenizers[dataset, variant]
        counter = counters[tokenizer] if tokenizer else None
        planned = instances_to_ask(config.family_reference(dataset), content, counter)
        is_exact = tokenizer is None or counters[tokenizer] is not None
        count = Estimate(planned.instances, is_exact)
        if not is_exact:
            facts = table_facts(layout.instances(dataset, variant))
            if facts is not None and facts.provenance.get("word_lists") == content.digest():
                count = Estimate(facts.rows)
        counts[dataset, variant] = planned, count
    return counts


def instances_to_ask(
    family: str, lists: Lists, token_counts: TokenCounts | None
) -> PlannedInstances:
    """Returns the instances that lists make, from their family's own count or by expanding them.

    Args:
        family: the reference of the family.
        lists: the lists.
        token_counts: counts the tokens of words, so that unknown subjects are left out; None to
            count all subjects.
    """
    reading = load(stage(family, "reading"))
    if not hasattr(reading, "planned_instances"):
        import polars as pl

        return InstancesToAsk(pl.concat(load(stage(family, "expand")).expand(lists).parts))
    planned: PlannedInstances = reading.planned_instances(lists, token_counts)
    return planned


def token_counter(layout: Layout, name: str) -> TokenCounts | None:
    """Returns a counter of the tokens of words, None if the tokenizer.json is not at hand.

    Args:
        layout: the places of files.
        name: the tokenizer in the config.
    """
    entry = layout.config.tokenizers[name]
    folder = checkpoint_folder(layout.record("tokenizers", name), entry.folder)
    backend = load_fast_tokenizer(folder / "tokenizer.json") if folder else None
    if backend is None:
        return None
    # A mask that is not a single token of the tokenizer would be counted as text.
    if entry.mask and backend.token_to_id(entry.mask) not in backend.encode(entry.mask).ids:
        return None
    ids = (backend.token_to_id(token) for token in UNKNOWN_TOKENS)
    unknown = next((number for number in ids if number is not None), None)
    return partial(counts_in_sentence, backend, entry.mask, unknown)


def checkpoint_folder(record: Path, folder: str | None) -> Path | None:
    """Returns the folder of a checkpoint, from its record or, without one, from the config.

    Args:
        record: the path of the record.
        folder: the folder that the config names, if any.

    Returns:
        None if the checkpoint has not been fetched or made, or is gone.
    """
    if not record.exists():
        return Path(folder) if folder else None
    try:
        return local_folder(read_record(record))
    except UserError:
        return None


def sample_notes(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[str]:
    """Yields a note on the tests that are possible with a sample, for each variant that has one.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    for (dataset, variant), content in lists.items():
        # Of variants that only trained models learn nothing is tested.
        if (dataset, variant) not in config.selected_variants:
            continue
        clusters = partial(variant_clusters, config, lists, dataset, variant)
        description = config.family(dataset).sampled(content, clusters)
        if description:
            yield f"{dataset} ({variant}), sample of {description}"
