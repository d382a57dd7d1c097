"""Counts the rows of tables without reading or making them, exactly or as an estimate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.references import load, stage_module
from biasgrid.config import Config, variant_clusters
from biasgrid.families.family import InstanceTexts, Lists, PlannedInstances, TokenCounts
from biasgrid.families.sampling import GOLDEN_RATIO
from biasgrid.inference.checkpoints.checkpoint import local_folder, read_record
from biasgrid.inference.checkpoints.fast_tokenizer import load_fast_tokenizer
from biasgrid.inference.models.masked.one_token import counts_in_sentence
from biasgrid.runs.layout import Layout

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Estimate:
    """A number, and whether it is exact.

    Attributes:
        value: the number, None if it is unknown.
        exact: False for an estimate. Of a number with a known maximum, such as that of distinct
            texts, the maximum is the estimate. Without meaning if the number is unknown.
    """

    value: float | None
    exact: bool = True

    def times(self, factor: float | None, *, exact: bool = True) -> Estimate:
        """Multiplies by a factor; the product is unknown if one of the two is.

        Args:
            factor: the factor, None if it is unknown.
            exact: whether the factor is exact.
        """
        product = None if self.value is None or factor is None else self.value * factor
        return Estimate(product, self.exact and exact)


UNKNOWN_NUMBER = Estimate(None)
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
"""Tokens that stand for words that a tokenizer does not know."""


def add_estimates(estimates: Iterable[Estimate]) -> Estimate:
    """Adds estimates; the sum is unknown if any is, and exact if all are."""
    parts = list(estimates)
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return UNKNOWN_NUMBER
    return Estimate(sum(values), all(part.exact for part in parts))


def json_data(value: Any) -> Any:
    """Converts dataclasses, and lists of them, to data for JSON.

    A field `x` with an estimate becomes two keys: `x`, see `short_number`, and `x_is`, see
    `certainty`. A property is no field, so it is left out.
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
            content[f"{field.name}_is"] = certainty(part)
        else:
            content[field.name] = json_data(part)
    return content


def short_number(estimate: Estimate) -> float | None:
    """Rounds a number to three decimals, to an integer if these are 0; None if it is unknown."""
    if estimate.value is None:
        return None
    short = round(estimate.value, 3)
    return int(short) if short == int(short) else short


def certainty(estimate: Estimate) -> str | None:
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
    """Instances as a table, for families that cannot count instances without expanding them."""

    table: pl.DataFrame

    @property
    def instances(self) -> int:
        """The number of instances."""
        return len(self.table)

    def sample(self, count: int) -> list[InstanceTexts]:
        """Returns the texts of `count` instances; of all if there are fewer."""
        rows = self.table
        if len(rows) > count:
            # A table may have periods, such as the orders in which an item is asked.
            places = {int(step * GOLDEN_RATIO % 1 * len(rows)) for step in range(count)}
            rows = rows[sorted(places)]
        return instance_texts(rows)

    def parts(self, part_count: int, part_size: int) -> list[list[InstanceTexts]]:
        """Returns the texts of parts of the table, see `PlannedInstances.parts`."""
        part_count = max(1, min(part_count, ceil(len(self.table) / part_size)))
        # If the parts do not fill the table evenly, they overlap.
        last = max(0, len(self.table) - part_size)
        starts = [last * step // max(1, part_count - 1) for step in range(part_count)]
        return [instance_texts(self.table.slice(start, part_size)) for start in starts]


def instance_texts(instances: pl.DataFrame) -> list[InstanceTexts]:
    """Returns the texts of instances."""
    columns = [name for name in instances.columns if name.startswith("candidate")]
    texts: list[InstanceTexts] = []
    for system, pair, text, *words in instances.select(
        "system", "text_pair", "text", *columns
    ).rows():
        # Null if another instance of the table has more candidates.
        candidates = [word for word in words if word is not None]
        texts.append((pair or "", text, candidates, system or ""))
    return texts


def table_facts(path: Path) -> TableFacts | None:
    """Reads only the metadata of a table; None if it is missing or no readable Parquet file."""
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

    A count is an estimate if a tokenizer decides which subjects are kept, and is neither at hand
    nor was an instances table made from these word lists: all subjects are counted then.

    Args:
        layout: the places of files.
        lists: the word lists by dataset and variant.

    Returns:
        By dataset and variant the planned instances, and their number.
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
    """Returns the instances of word lists, as the family plans them or by expanding the lists.

    Args:
        family: the reference of the family.
        lists: the word lists.
        token_counts: counts the tokens of words, so that subjects of several tokens are left out;
            None keeps all subjects.
    """
    reading = load(stage_module(family, "reading"))
    if not hasattr(reading, "planned_instances"):
        import polars as pl

        return InstancesToAsk(pl.concat(load(stage_module(family, "expand")).expand(lists).parts))
    planned: PlannedInstances = reading.planned_instances(lists, token_counts)
    return planned


def token_counter(layout: Layout, name: str) -> TokenCounts | None:
    """Returns a counter of the tokens of words, None if the tokenizer is not at hand.

    The counter returns 0 for a word with an unknown token. The tokenizer is at hand if its
    tokenizer.json can be read, and its mask is a single token.

    Args:
        layout: the places of files.
        name: the name of the tokenizer in the config.
    """
    entry = layout.config.tokenizers[name]
    folder = checkpoint_folder(layout.record("tokenizers", name), entry.folder)
    backend = load_fast_tokenizer(folder / "tokenizer.json") if folder else None
    if backend is None:
        return None
    # Otherwise the letters of the mask would be counted as text.
    if entry.mask and backend.token_to_id(entry.mask) not in backend.encode(entry.mask).ids:
        return None
    ids = (backend.token_to_id(token) for token in UNKNOWN_TOKENS)
    unknown = next((number for number in ids if number is not None), None)
    return partial(counts_in_sentence, backend, entry.mask, unknown)


def checkpoint_folder(record: Path, folder: str | None) -> Path | None:
    """Returns the folder of a checkpoint, from its record or, without one, from the config.

    Args:
        record: the path of the record, which may be missing.
        folder: the folder in the config, None if the checkpoint is from the hub or trained here.

    Returns:
        None if the checkpoint has not been fetched or trained, or is gone.
    """
    if not record.exists():
        return Path(folder) if folder else None
    try:
        return local_folder(read_record(record))
    except UserError:
        return None


def sample_notes(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[str]:
    """Yields a note for each selected variant of which only a sample is asked.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    for (dataset, variant), content in lists.items():
        # Nothing is tested in variants that are only for training.
        if (dataset, variant) not in config.selected_variants:
            continue
        clusters = partial(variant_clusters, config, lists, dataset, variant)
        description = config.family(dataset).sampled(content, clusters)
        if description:
            yield f"{dataset} ({variant}), sample of {description}"
