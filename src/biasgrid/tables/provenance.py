"""Provenance of tables: code, config, inputs, models, precision and machine, in their metadata; and
checks of provenance.

Provenance is the same in each run, so that two runs of a config on one machine give the same bytes.
Times and the memory used are in the files of timings (see
`biasgrid.inference.models.predict.Timing`).
"""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from biasgrid.base.files import digest_file, read_run_json
from biasgrid.base.version import package_version
from biasgrid.tables.files import OF, REMEDY, TableError, read_facts, read_provenance

LIBRARIES = ("numpy", "polars", "safetensors", "tokenizers", "torch", "transformers")
KEPT_AS = "kept_as"
"""The fact of predictions that names their shard in the store of kept answers."""
ANSWERED_AS = "answered_as"
"""The fact of predictions that has the names under which an endpoint answered; absent for other
models, and if it gave none.
"""
ASKED_FOR = "asked_for"
"""The fact that has the name by which an endpoint was asked for the model; absent likewise."""
OF_SHARDS = (ANSWERED_AS, "audits", "config", "devices", "hardware", KEPT_AS, OF)
"""Facts in which the shards of a cell may differ."""


def table_provenance(config: Mapping[str, Any] | None = None, **facts: Any) -> dict[str, Any]:
    """Returns provenance: version, libraries and machine, with additional facts.

    Args:
        config: the config that was in force when the table was made, of which a digest is kept;
            None outside of a run.
        facts: additional entries; they replace entries of the same name.
    """
    libraries = {"python": platform.python_version()}
    for name in LIBRARIES:
        libraries[name] = version(name)
    provenance: dict[str, Any] = {
        "biasgrid": package_version(),
        "libraries": libraries,
        "hardware": {"machine": platform.machine(), "processor": processor()},
    }
    if config is not None:
        provenance["config"] = digest(config)
    return {**provenance, **facts}


def digest(value: Any) -> str:
    """Digests a value that can be written as JSON, whatever the order of its keys."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def processor() -> str:
    """Names the model of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def cell_provenance(
    instances: Path,
    predictions: Sequence[Path],
    record: str | Path | None = None,
    dump: Mapping[str, Any] | None = None,
    **expected: Any,
) -> dict[str, Any]:
    """Returns the provenance of a cell's predictions, once for all shards.

    Args:
        instances: the cell's instances table.
        predictions: its predictions tables.
        record: the record of the model that must have made them; None for no such check.
        dump: facts of the dump from which they must have been imported; a fact that is None fits
            any value. None for no such check.
        expected: facts that the predictions must have, such as `scoring`.

    Returns:
        The facts that all shards share, the machines of all of them, and one audit for all.

    Raises:
        TableError: the shards were made differently, from other instances, by another model, or not
            as expected.
    """
    shards = [read_provenance(path) for path in predictions]
    path, facts = predictions[0], shards[0]
    check_same_facts(predictions, shards)
    if record is not None:
        model = read_run_json(record, "a record of a checkpoint")
        if facts.get("model") != model:
            raise TableError(f"{path}: not made by the model in {record}; {REMEDY}")
    for key, value in expected.items():
        if facts.get(key) != value:
            raise TableError(
                f"{path}: its {key} is {facts.get(key)}; expected {value}, as in the "
                f"config; {REMEDY}"
            )
    if dump is not None and not is_from_dump(facts, dump):
        raise TableError(f"{path}: not imported from the dump in the config; {REMEDY}")
    check_instances(path, facts, instances)
    common = {key: fact for key, fact in facts.items() if key not in ("audits", KEPT_AS, OF)}
    return {**common, **shard_facts(shards)}


def check_same_facts(paths: Sequence[Path], shards: Sequence[Mapping[str, Any]]) -> None:
    """Refuses shards that differ in more than `OF_SHARDS`.

    Args:
        paths: the predictions tables of the shards.
        shards: their provenance.

    Raises:
        TableError: with the first fact that differs.
    """
    reference = shards[0]
    for path, shard in zip(paths, shards, strict=True):
        for key in sorted({*shard, *reference} - {*OF_SHARDS}):
            if shard.get(key) != reference.get(key):
                raise TableError(
                    f"{path}: its {key} differs from that of {paths[0]}; expected the same "
                    "in all shards of a cell: remove them and run again"
                )


def is_from_dump(provenance: Mapping[str, Any], dump: Mapping[str, Any]) -> bool:
    """Whether predictions were imported from a dump; None in `dump` fits anything."""
    own_dump = provenance.get("dump", {})
    return all(value is None or own_dump.get(key) == value for key, value in dump.items())


def check_instances(path: Path, provenance: Mapping[str, Any], instances: Path) -> None:
    """Refuses predictions that were made from other instances than the present ones.

    Args:
        path: the predictions table, for the message.
        provenance: its provenance.
        instances: the cell's instances table.

    Raises:
        TableError: with both tables.
    """
    made_from = provenance.get("instances_sha256")
    if made_from is not None and made_from != digest_file(instances):
        raise TableError(f"{path}: not made from {instances}; {REMEDY}")
    if "dump" not in provenance:
        return
    if read_provenance(instances).get("dump") != provenance["dump"]:
        raise TableError(
            f"{path}: imported from a different dump than {instances}; remove both and run again"
        )


def shard_facts(shards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the facts in which shards may differ, for all of them together.

    Args:
        shards: the provenance of a cell's predictions.

    Returns:
        `devices` and `hardware`, each without repetitions; `audit`, which is None if no row was
        audited; and `ANSWERED_AS`.
    """
    devices: set[str] = set()
    hardware: list[Mapping[str, str]] = []
    # Shards that took answers from the same earlier shard share its audit, which has its name.
    audits: dict[str, Mapping[str, float]] = {}
    names: set[str] = set()
    for shard in shards:
        names.update(shard.get(ANSWERED_AS, []))
        devices.update(shard.get("devices", []))
        audits.update(shard.get("audits", {}))
        if "hardware" in shard and shard["hardware"] not in hardware:
            hardware.append(shard["hardware"])
    return {
        "devices": sorted(devices),
        "hardware": hardware,
        "audit": pooled_audit(audits.values()),
        **names_fact(names),
    }


def names_fact(answer_names: Collection[str]) -> dict[str, list[str]]:
    """Returns the fact `ANSWERED_AS`; none without names."""
    return {ANSWERED_AS: sorted(answer_names)} if answer_names else {}


def provenance_digests(predictions: Sequence[Path]) -> list[str]:
    """Returns the digests of the provenance of predictions, table by table.

    Tables that are made from the texts in predictions keep them as a fact.
    """
    return [digest(read_provenance(path)) for path in predictions]


def check_made_from(
    path: str | Path, key: str, made_from: Any, source: str | Path, kind: str = "biasgrid"
) -> None:
    """Refuses a table that was not made from the current source.

    Args:
        path: the table.
        key: the fact of its provenance that describes its source.
        made_from: the fact that the current source has, as JSON.
        source: the name of the source, for the message.
        kind: the kind of table, for the message if it cannot be read.

    Raises:
        TableError: with both tables.
    """
    if read_facts(path, kind).get(key) != json.loads(json.dumps(made_from)):
        raise TableError(f"{path}: not up to date with {source}; {REMEDY}")


def table_cell(path: str | Path) -> str:
    """Returns `DATASET/MODEL` of a table of a cell, `DATASET/MODEL.parquet`."""
    return "/".join(Path(path).with_suffix("").parts[-2:])


def cell_provenances(paths: Sequence[str | Path]) -> dict[str, dict[str, Any]]:
    """Returns the provenance of tables of cells, by `DATASET/MODEL`."""
    return {table_cell(path): read_provenance(path) for path in paths}


def check_made_with(measures: Sequence[str | Path], cell_tables: Sequence[str | Path]) -> None:
    """Refuses tables of cells that do not belong to the current measures.

    A table belongs if it has the provenance of the measures, or if it is the table of sums from
    which they were made.

    Args:
        measures: the measures of cells, `DATASET/MODEL.parquet`.
        cell_tables: other tables of some of these cells, named alike.

    Raises:
        TableError: with the first such table.
    """
    provenance = cell_provenances(measures)
    sources = {table_cell(path): path for path in measures}
    for path in cell_tables:
        own, name = read_provenance(path), table_cell(path)
        is_made_with = own == provenance[name]
        # The digest of the sums' provenance is a fact of the measures.
        is_source = digest(own) == provenance[name].get("sums")
        if not (is_made_with or is_source):
            raise TableError(f"{path}: not made with {sources[name]}; {REMEDY}")


def check_compared(measures: Sequence[str | Path], comparisons: Sequence[str | Path]) -> None:
    """Refuses tables that compare the models of a dataset, but not by their current measures.

    Args:
        measures: the measures of cells, `DATASET/MODEL.parquet`.
        comparisons: tables that compare models, `DATASET.parquet`.

    Raises:
        TableError: with the first such table.
    """
    cells_by_dataset: dict[str, dict[str, Any]] = {}
    for path in map(Path, measures):
        cells_by_dataset.setdefault(path.parent.name, {})[path.stem] = read_provenance(path)
    for path in map(Path, comparisons):
        if read_provenance(path).get("cells") != cells_by_dataset[path.stem]:
            raise TableError(f"{path}: does not compare the measures of {path.stem}; {REMEDY}")


def pooled_audit(audits: Collection[Mapping[str, float]]) -> dict[str, float] | None:
    """Pools audits: total rows, largest drift, mean drift weighted by rows. None without rows."""
    rows = sum(audit["rows"] for audit in audits)
    if not rows:
        return None
    return {
        "rows": rows,
        "largest_drift": max(audit["largest_drift"] for audit in audits),
        "mean_drift": sum(audit["mean_drift"] * audit["rows"] for audit in audits) / rows,
    }
