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
    """A number in the direction that the schema wants.

    Attributes:
        value, low, high: the number and its interval; None where there is none.
        lower_is_better: whether less is fairer.
        least, most: between what such numbers are.
        is_distance: whether it is the distance from the value of equal treatment, so that the sign
            is lost.
    """

    value: float
    low: float | None
    high: float | None
    lower_is_better: bool
    least: float
    most: float
    is_distance: bool


def score_details(row: Mapping[str, Any], fair: float, ends: tuple[float, float]) -> RecordScore:
    """Puts a number into the direction of the schema, which knows smaller or larger to be better,
    and no middle.

    Args:
        row: `measure`, `value`, `low` and `high`.
        fair: the value of equal treatment.
        ends: between what numbers of the measure are.
    """
    value, low, high = row["value"], row["low"], row["high"]
    least, most = (0.0, ends[1]) if is_size(row["measure"]) else ends
    if is_size(row["measure"]):
        # Below 0, a size without noise says the same as 0.
        value, low, high = (None if one is None else max(one, 0.0) for one in (value, low, high))
    if fair in (least, most):
        return RecordScore(value, low, high, fair == least, least, most, is_distance=False)
    inside = low is not None and high is not None and low <= fair <= high
    off = [abs(one - fair) for one in (low, high) if one is not None]
    near, far = (0.0 if inside else min(off), max(off)) if off else (None, None)
    return RecordScore(
        abs(value - fair), near, far, True, 0.0, max(most - fair, fair - least), is_distance=True
    )


def export_records(
    results: Path, model: str, out: Path, organization: str, relationship: str
) -> list[str]:
    """Writes a record of each dataset that a model was asked.

    Args:
        results: the folder of results.
        model: the model's name in the config.
        out: the folder to write, `DATASET/MODEL.json` in it.
        organization: who has measured.
        relationship: whether that is who has made the model, one of `RELATIONSHIPS`.

    Returns:
        Lines for the terminal.

    Raises:
        InputError: there is no such model.
        UserError: the results hold no number of the model.
    """
    made = Results(results)
    summary, manifest, provenance = (
        made.summary(),
        made.manifest(),
        made.provenance("summary.parquet"),
    )
    faults = list(
        unknown_names(
            "--model", "", [model], summary["model"].unique(maintain_order=True).to_list()
        )
    )
    faults += unknown_names("--relationship", "", [relationship], RELATIONSHIPS)
    if faults:
        raise InputError(faults)
    facts = GridFacts.of_summary(provenance)
    level = provenance.get("statistics", {}).get("level", 0.95)
    rows, lines = summary.filter(pl.col("headline"), model=model), list[str]()
    if lacking := [
        name
        for name in rows["dataset"].unique(maintain_order=True)
        if name not in manifest["datasets"]
    ]:
        raise UserError(
            f"{results}: its manifest.json says nothing of {first_few(lacking)}: finish "
            "the run first"
        )
    source = {
        "source_name": str(manifest.get("title") or EVALUATION_LIBRARY),
        "source_type": "evaluation_run",
        "source_organization_name": organization,
        "evaluator_relationship": relationship,
    }
    for (dataset,), part in rows.group_by("dataset", maintain_order=True):
        name, now = str(dataset), str(int(time.time()))
        about = manifest["datasets"][name]
        cells = [
            cell for cell in manifest["cells"] if (cell["dataset"], cell["model"]) == (name, model)
        ]
        logs = [log for cell in cells for log in cell.get("logs", [])]
        record: EvaluationRecord = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": f"{name}/{model}/{now}",
            "retrieved_timestamp": now,
            "source_metadata": source | source_of_logs(logs),
            "eval_library": {"name": EVALUATION_LIBRARY, "version": manifest["biasgrid"]},
            "model_info": model_info(
                model, manifest["models"].get(model) or {}, part["label"][0], logs
            ),
            "evaluation_results": [*results_of(part, about, facts, level, manifest)],
        }
        if record["evaluation_results"]:
            path = out / name / f"{model}.json"
            write_text(path, f"{json.dumps(record, indent=2, ensure_ascii=False)}\n")
            lines.append(f"{path}: {len(record['evaluation_results'])} of {len(part)} numbers")
    if not lines:
        raise UserError(
            f"{results}: no number of {model} can be exported: none has a value and a direction"
        )
    lines.append(
        "Numbers without a value and measures without a value of equal treatment are left out."
    )
    return lines


def results_of(
    rows: pl.DataFrame,
    about: Mapping[str, Any],
    facts: GridFacts,
    level: float,
    manifest: Mapping[str, Any],
) -> Iterator[EvaluationRecord]:
    """Yields the results of a dataset: headline numbers that have a value, and a value of equal
    treatment beside it.
    """
    counts = line_counts(rows)
    for row in rows.drop_nulls("value").iter_rows(named=True):
        dataset, measure = row["dataset"], row["measure"]
        meaning, fair = facts.headlines.get(dataset, {}).get(measure, ("", None))
        if fair is None:
            continue
        score = score_details(row, fair, facts.range_of(row))
        parts = [dataset, *filter(None, (row["bias_type"], measure, row["options"]))]
        digests = {
            name: one
            for name, one in manifest["word_lists"].items()
            if name.partition("/")[0] == dataset
        }
        yield {
            "evaluation_result_id": "/".join(parts),
            "evaluation_name": " / ".join(filter(None, (about["title"], row["bias_type"]))),
            "source_data": {
                "dataset_name": about["title"],
                "source_type": "other",
                "additional_details": {"dataset": dataset, **digests},
            },
            "metric_config": metric_config(measure, row["options"], meaning, fair, score),
            "score_details": {
                "score": score.value,
                "details": details_of(
                    row, fair, counts[dataset, row["bias_type"]], facts.units.get(dataset)
                ),
                **uncertainty_of(row, score, level),
            },
        }


def metric_config(
    measure: str, options: str, meaning: str, fair: float, score: RecordScore
) -> EvaluationRecord:
    """Returns what is said of a measure."""
    distance = (
        f" Here its distance from {fair:g}, the value of equal treatment."
        if score.is_distance
        else ""
    )
    return {
        "evaluation_description": f"{meaning[:1].upper()}{meaning[1:]}.{distance}",
        "metric_id": f"{EVALUATION_LIBRARY}.{measure}",
        "metric_name": measure.replace("_", " "),
        "metric_parameters": {"options": options, "equal_treatment": fair},
        "lower_is_better": score.lower_is_better,
        "score_type": "continuous",
        "min_score": end_of_range(score.least),
        "max_score": end_of_range(score.most),
    }


def end_of_range(end: float) -> float | str:
    """Returns an end of a range as the schema writes it."""
    return end if isfinite(end) else "Infinity" if end == inf else "-Infinity"


def details_of(row: Mapping[str, Any], fair: float, count: int, unit: str | None) -> dict[str, str]:
    """Returns what the schema has no place for, as texts: the number with its sign, what n is, and
    what flags say.
    """
    named = {
        "signed_value": row["value"],
        "signed_low": row["low"],
        "signed_high": row["high"],
        "equal_treatment": fair,
        "null_mean": row["null_mean"],
        "p": row["p"],
        "q": row["q"],
        "n": count,
        "n_counts": unit,
        "clusters": row["clusters"],
        "generalises_to": row["generalises_to"],
        "scoring": row["scoring"],
        "flag": row["flag"],
        "verdict": row["verdict"],
    }
    return {name: str(value) for name, value in named.items() if value is not None}


def uncertainty_of(row: Mapping[str, Any], score: RecordScore, level: float) -> EvaluationRecord:
    """Returns the interval of a number, over what it is, and of how many clusters it was made;
    nothing without one.
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


def source_of_logs(logs: Sequence[Mapping[str, str]]) -> EvaluationRecord:
    """Says which harness has asked the model, where answers are from a log; nothing where biasgrid
    has.
    """
    texts = [", ".join(f"{name} {value}" for name, value in log.items()) for log in logs]
    return {"additional_details": {"answers_from": "; ".join(texts)}} if texts else {}


def model_info(
    model: str, record: Mapping[str, Any], label: str, logs: Sequence[Mapping[str, str]]
) -> EvaluationRecord:
    """Returns what is known of a model; where it lies on a disk is not told."""
    checkpoint = record.get("checkpoint")
    named = next((log["model"] for log in logs if "model" in log), model)
    details = {
        "deployment_type": "self_deployed" if record.get("weights") else "unknown",
        "model_availability": "open_weights" if checkpoint else "unknown",
        "name_in_config": model,
    }
    known = {
        name: str(record[name]) for name in ("revision", "weights", "tokenizer") if record.get(name)
    }
    return {"name": label, "id": checkpoint or named, "additional_details": details | known}
