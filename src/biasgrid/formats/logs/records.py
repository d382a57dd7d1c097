"""Numbers of a run as records of Every Eval Ever (schema 0.3.0): one of each dataset that a model
was asked.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.base.faults import InputError, UserError, first_few, unknown_names
from biasgrid.base.files import write_text
from biasgrid.runs.results import Results
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.claims.numbers import is_size
from biasgrid.tables.summary import line_counts

SCHEMA_VERSION = "0.3.0"
EVALUATION_LIBRARY = "biasgrid"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
INTERVAL_METHODS = "over {factors}, as docs/statistics.md of biasgrid says"
EvaluationRecord = dict[str, Any]


class RecordScore(NamedTuple):
    """A number as the schema wants it: smaller numbers are always better, or always worse.

    Attributes:
        value: the number.
        low, high: the ends of its interval; None without an interval.
        lower_is_better: whether smaller numbers are fairer.
        minimum, maximum: the range of such numbers, which may be infinite.
        is_distance: whether it is the distance from the value of equal treatment, which has lost
            its sign.
    """

    value: float
    low: float | None
    high: float | None
    lower_is_better: bool
    minimum: float
    maximum: float
    is_distance: bool


def score_details(
    row: Mapping[str, Any], fair: float, value_range: tuple[float, float]
) -> RecordScore:
    """Converts a number to a score of the schema.

    If the fair value lies inside its range, the score is the distance from the fair value.

    Args:
        row: `measure`, `value` and the ends `low` and `high` of the interval, None without one.
        fair: the value of equal treatment.
        value_range: the smallest and the largest value of the measure.
    """
    value, low, high = row["value"], row["low"], row["high"]
    minimum, maximum = value_range
    if is_size(row["measure"]):
        # A size corrected for noise may be below 0, where it means the same as 0.
        value = max(value, 0.0)
        low = None if low is None else max(low, 0.0)
        high = None if high is None else max(high, 0.0)
        minimum = 0.0
    if fair in (minimum, maximum):
        lower_is_better = fair == minimum
        return RecordScore(value, low, high, lower_is_better, minimum, maximum, is_distance=False)
    nearest, farthest = interval_distances(low, high, fair=fair)
    return RecordScore(
        value=abs(value - fair),
        low=nearest,
        high=farthest,
        lower_is_better=True,
        minimum=0.0,
        maximum=max(maximum - fair, fair - minimum),
        is_distance=True,
    )


def interval_distances(
    low: float | None, high: float | None, *, fair: float
) -> tuple[float | None, float | None]:
    """Returns the smallest and the largest distance of an interval from a value.

    Args:
        low: the lower end of the interval. If one end is None, the other is the whole interval; if
            both are, both distances are None.
        high: the upper end, likewise.
        fair: the value.
    """
    ends = [abs(end - fair) for end in (low, high) if end is not None]
    if not ends:
        return None, None
    contains_fair = low is not None and high is not None and low <= fair <= high
    nearest = 0.0 if contains_fair else min(ends)
    return nearest, max(ends)


def export_records(
    results: Path, model: str, out: Path, organization: str, relationship: str
) -> list[str]:
    """Writes a record of each dataset that a model answered.

    Args:
        results: the folder of results.
        model: the model's name in the config.
        out: the folder to write; files are `DATASET/MODEL.json` in it.
        organization: the organization that ran the measurement.
        relationship: its relationship to the maker of the model, one of `RELATIONSHIPS`.

    Returns:
        Lines for the terminal.

    Raises:
        InputError: the model or the relationship is unknown.
        UserError: the results have no number of the model, or the run was not finished.
    """
    result_files = Results(results)
    summary = result_files.summary()
    manifest = result_files.manifest()
    provenance = result_files.provenance("summary.parquet")
    models = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("--model", "", [model], models))
    faults += unknown_names("--relationship", "", [relationship], RELATIONSHIPS)
    if faults:
        raise InputError(faults)

    rows = summary.filter(pl.col("headline"), model=model)
    datasets = rows["dataset"].unique(maintain_order=True)
    missing = [name for name in datasets if name not in manifest["datasets"]]
    if missing:
        raise UserError(
            f"{results}: its manifest.json says nothing of {first_few(missing)}: finish "
            "the run first"
        )
    facts = GridFacts.from_provenance(provenance)
    level = provenance.get("statistics", {}).get("level", 0.95)
    source = {
        "source_name": str(manifest.get("title") or EVALUATION_LIBRARY),
        "source_type": "evaluation_run",
        "source_organization_name": organization,
        "evaluator_relationship": relationship,
    }
    lines: list[str] = []
    for (dataset,), part in rows.group_by("dataset", maintain_order=True):
        scores = [*record_results(part, manifest["datasets"][dataset], facts, level, manifest)]
        if not scores:
            continue
        logs = cell_logs(manifest, str(dataset), model)
        now = str(int(time.time()))
        record: EvaluationRecord = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": f"{dataset}/{model}/{now}",
            "retrieved_timestamp": now,
            "source_metadata": source | answer_source(logs),
            "eval_library": {"name": EVALUATION_LIBRARY, "version": manifest["biasgrid"]},
            "model_info": model_info(
                model, manifest["models"].get(model) or {}, part["label"][0], logs
            ),
            "evaluation_results": scores,
        }
        path = out / str(dataset) / f"{model}.json"
        write_text(path, f"{json.dumps(record, indent=2, ensure_ascii=False)}\n")
        lines.append(f"{path}: {len(scores)} of {len(part)} numbers")
    if not lines:
        raise UserError(
            f"{results}: no number of {model} can be exported: none has a value and a direction"
        )
    lines.append(
        "Numbers without a value and measures without a value of equal treatment are left out."
    )
    return lines


def cell_logs(manifest: Mapping[str, Any], dataset: str, model: str) -> list[dict[str, str]]:
    """Returns the sources of the logs with a cell's answers.

    Empty if the answers are not from logs of a harness; see `formats.logs.samples.Log`.
    """
    logs = []
    for cell in manifest["cells"]:
        if (cell["dataset"], cell["model"]) == (dataset, model):
            logs += cell.get("logs", [])
    return logs


def record_results(
    rows: pl.DataFrame,
    description: Mapping[str, Any],
    facts: GridFacts,
    level: float,
    manifest: Mapping[str, Any],
) -> Iterator[EvaluationRecord]:
    """Yields a result for each number that has a value and a value of equal treatment.

    Args:
        rows: headline numbers of a dataset, in columns of `summary.parquet`.
        description: the dataset in the manifest.
        facts: units, ranges and values of equal treatment of the grid's measures.
        level: the level of the intervals.
        manifest: the manifest of the run.
    """
    sample_sizes = line_counts(rows)
    for row in rows.drop_nulls("value").iter_rows(named=True):
        dataset, measure, bias_type = row["dataset"], row["measure"], row["bias_type"]
        meaning, fair = facts.headlines.get(dataset, {}).get(measure, ("", None))
        if fair is None:
            continue
        value_range = facts.value_range(dataset=dataset, measure=measure)
        score = score_details(row, fair, value_range)
        sample_size = sample_sizes[dataset, bias_type]
        yield {
            "evaluation_result_id": join_name("/", dataset, bias_type, measure, row["options"]),
            "evaluation_name": join_name(" / ", description["title"], bias_type),
            "source_data": {
                "dataset_name": description["title"],
                "source_type": "other",
                "additional_details": {
                    "dataset": dataset,
                    **word_list_digests(manifest, dataset),
                },
            },
            "metric_config": metric_config(measure, row["options"], meaning, fair, score),
            "score_details": {
                "score": score.value,
                "details": number_details(row, fair, sample_size, facts.units.get(dataset)),
                **uncertainty(row, score, level),
            },
        }


def join_name(separator: str, *parts: str | None) -> str:
    """Joins the parts of a name, except those that are None or empty."""
    return separator.join(part for part in parts if part)


def word_list_digests(manifest: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Returns the digests of the word lists of a dataset's variants."""
    return {
        name: digests
        for name, digests in manifest["word_lists"].items()
        if name.partition("/")[0] == dataset
    }


def metric_config(
    measure: str, measure_options: str, meaning: str, fair: float, score: RecordScore
) -> EvaluationRecord:
    """Describes a measure.

    Args:
        measure: its name.
        measure_options: the options that it was computed with, as in the column `options`.
        meaning: its meaning, in words.
        fair: the value of equal treatment.
        score: a number of the measure.
    """
    description = f"{meaning[:1].upper()}{meaning[1:]}."
    if score.is_distance:
        description += f" Here its distance from {fair:g}, the value of equal treatment."
    return {
        "evaluation_description": description,
        "metric_id": f"{EVALUATION_LIBRARY}.{measure}",
        "metric_name": measure.replace("_", " "),
        "metric_parameters": {"options": measure_options, "equal_treatment": fair},
        "lower_is_better": score.lower_is_better,
        "score_type": "continuous",
        "min_score": schema_limit(score.minimum),
        "max_score": schema_limit(score.maximum),
    }


def schema_limit(limit: float) -> float | str:
    """Returns a limit of a range, as a text if it is infinite: JSON has no infinity."""
    if isfinite(limit):
        return limit
    return "Infinity" if limit == inf else "-Infinity"


def number_details(
    row: Mapping[str, Any], fair: float, sample_size: int, unit: str | None
) -> dict[str, str]:
    """Returns facts on a number that have no field in the schema, as texts without nulls.

    Args:
        row: the number, in columns of `summary.parquet`.
        fair: the value of equal treatment.
        sample_size: the number of units that the measure counts.
        unit: the name of these units, None if it is unknown.
    """
    facts = {
        "signed_value": row["value"],
        "signed_low": row["low"],
        "signed_high": row["high"],
        "equal_treatment": fair,
        "null_mean": row["null_mean"],
        "p": row["p"],
        "q": row["q"],
        "n": sample_size,
        "n_counts": unit,
        "clusters": row["clusters"],
        "generalises_to": row["generalises_to"],
        "scoring": row["scoring"],
        "flag": row["flag"],
        "verdict": row["verdict"],
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def uncertainty(row: Mapping[str, Any], score: RecordScore, level: float) -> EvaluationRecord:
    """Returns interval, method and number of clusters of a number; empty without an interval.

    Args:
        row: the number, in columns of `summary.parquet`.
        score: the number as the schema has it, which has the interval.
        level: the level of the interval.
    """
    if score.low is None or score.high is None:
        return {}
    interval = {
        "lower": score.low,
        "upper": score.high,
        "confidence_level": level,
        "method": INTERVAL_METHODS.format(factors=row["generalises_to"]),
    }
    clusters = {} if row["clusters"] is None else {"num_samples": row["clusters"]}
    return {"uncertainty": {"confidence_interval": interval, **clusters}}


def answer_source(logs: Sequence[Mapping[str, str]]) -> EvaluationRecord:
    """Names the logs that have the answers; empty without logs."""
    if not logs:
        return {}
    texts = []
    for log in logs:
        facts = [f"{name} {value}" for name, value in log.items()]
        texts.append(", ".join(facts))
    return {"additional_details": {"answers_from": "; ".join(texts)}}


def model_info(
    model: str, record: Mapping[str, Any], label: str, logs: Sequence[Mapping[str, str]]
) -> EvaluationRecord:
    """Describes a model, without paths of this machine.

    Args:
        model: its name in the config.
        record: the record of its checkpoint, empty if it has none.
        label: its label.
        logs: the sources of the logs with its answers. Without a checkpoint, the model's name in
            the first log that has one is its id.
    """
    checkpoint = record.get("checkpoint")
    name_in_log = next((log["model"] for log in logs if "model" in log), model)
    details = {
        "deployment_type": "self_deployed" if record.get("weights") else "unknown",
        "model_availability": "open_weights" if checkpoint else "unknown",
        "name_in_config": model,
    }
    for name in ("revision", "weights", "tokenizer"):
        if record.get(name):
            details[name] = str(record[name])
    return {"name": label, "id": checkpoint or name_in_log, "additional_details": details}
