"""One cell through all stages in one process: the scripts of the rules, one after the other,
without Snakemake.
"""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import polars as pl
from parsed_page import Page
from project import ROOT
from small_grid import inputs_of, job
from small_tables import predictions_of

from biasgrid.base.references import load_reference
from biasgrid.config import parse_config
from biasgrid.inference.checkpoints.fetch import make_keys_record, make_record
from biasgrid.inference.engine.settings import ModelSettings
from biasgrid.inference.models.prerequisites import find_or_keep, write_capabilities
from biasgrid.report.findings import Finding, findings
from biasgrid.runs.inputs.cells import CellInputs
from biasgrid.runs.inputs.models import ModelInputs
from biasgrid.runs.inputs.pages import PageInputs
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.measures import MEASURE_KEYS, MEASURES, SUMMARY
from biasgrid.tables.metric import NOT_MEASURABLE
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema
from biasgrid.tables.verdicts import VERDICTS

MODEL, DATASET = "model", "dataset"
RESOURCES = {
    "gpu": 0,
    "device": "cpu",
    "jobs_per_gpu": 1,
    "seconds_without_progress": 600,
    "token_budget": 512,
}
Answer = Callable[[pl.DataFrame], Mapping[str, Any]]
"""Gives the columns of the predictions of instances, in the place of a model that has weights."""


def precomputed(folder: Path, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The section of a model whose responses are in a file: `prompt`, `group`, `repetition` and
    `response`.
    """
    file = folder / "answers.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return {"task": "text-generation", "answers": str(file)}


class Named(list[Any]):
    """Files or params as a script is given them: one after the other, and by name."""

    def __init__(self, **named: Any) -> None:
        super().__init__(
            file
            for value in named.values()
            for file in (value if isinstance(value, list) else [value])
        )
        self.named = named

    def __getattr__(self, name: str) -> Any:
        return self.named[name]

    def __getitem__(self, key: Any) -> Any:
        return self.named[key] if isinstance(key, str) else super().__getitem__(key)

    def get(self, name: str, default: Any = None) -> Any:
        return self.named.get(name, default)


class Pipeline:
    """A config of one cell, whose stages have been run.

    Attributes:
        instances: what is asked, with the columns of the family.
        measures: its numbers, of schema `MEASURES`.
        summary: of schema `SUMMARY`.
        evidence: the sentences behind its numbers, of schema `EVIDENCE`.
        page: the report.
    """

    def __init__(
        self,
        folder: Path,
        model: dict[str, Any],
        dataset: dict[str, Any],
        answer: Answer | None = None,
    ):
        """Runs all stages; the lists are in the folder. Without `answer` the model of the config is
        asked.
        """
        self.config: dict[str, Any] = {
            "results": str(folder / "results"),
            "word_lists": str(folder),
            "inference": {"device": "cpu"},
            "models": {MODEL: {"kind": "Small", "label": "Small model"} | model},
            "datasets": {DATASET: {"title": "Small dataset"} | dataset},
            "run": {"models": [MODEL], "datasets": [DATASET]},
        }
        self.grid = parse_config(self.config, "config.yaml")
        self.inputs = inputs_of(self.grid, with_lists=True)
        self.layout, self.cells, self.pages = (
            self.inputs.layout,
            CellInputs(self.inputs),
            PageInputs(self.inputs, "c"),
        )
        self.job = job(dataset=DATASET, model=MODEL)
        self.record = self.layout.record("models", MODEL)
        self.expand()
        self.predict() if answer is None else self.write_predictions(answer)
        self.measure()
        self.statistics()
        self.report()

    def run(
        self,
        script: str,
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        params: Mapping[str, Any],
    ) -> None:
        """Runs the script of a rule; a job would begin with its log, and end its process."""
        snakemake = SimpleNamespace(
            config=self.config,
            input=Named(**inputs),
            output=Named(**outputs),
            params=Named(**params),
            wildcards=self.job,
            resources=SimpleNamespace(**RESOURCES),
            threads=1,
            log=[str(self.layout.log(script))],
        )
        with patch("biasgrid.jobs.start.start_job"), patch.dict(os.environ):
            runpy.run_path(
                str(ROOT / "workflow/scripts" / f"{script}.py"), {"snakemake": snakemake}
            )

    def expand(self) -> None:
        self.job.variant = self.grid.question(MODEL, DATASET).variant
        cell, made = self.job, self.layout.instances_of_cell(DATASET, MODEL)
        family, files = self.inputs.family(cell), self.cells.word_list_files(cell)
        self.run(
            "expand",
            {"tokenizer": []},
            {"made": made},
            {"family": family, "files": files, "code": ""},
        )
        self.instances = pl.read_parquet(made)

    def predict(self) -> None:
        """Asks the model of the config: one with weights in a folder, or one without weights."""
        source, shard = (
            self.grid.model_record_arguments(MODEL),
            self.layout.shard(DATASET, MODEL, "1-of-1"),
        )
        self.record.parent.mkdir(parents=True)
        folder = self.config["models"][MODEL].get("folder")
        with_weights = {"weights": True, "allow_pickle": False}
        record = (
            make_record(checkpoint=None, folder=folder, revision=None, **with_weights)
            if folder
            else make_keys_record(**source)
        )
        self.record.write_text(json.dumps(record))
        outputs = {"predictions": shard.predictions, "timing": shard.timing}
        params = {
            "cell": self.cells.predict_params(self.job),
            "answers": self.layout.answers(DATASET, MODEL),
        }
        params |= {
            "source": ModelInputs(self.inputs).source(self.job),
            "lists_digest": None,
            "precision": "float32",
        }
        files = self.cells.predict_files(self.job)
        if files["capabilities"]:
            self.find_capabilities(files["capabilities"])
        self.run("predict", files, outputs, params)

    def find_capabilities(self, file: Path) -> None:
        """Finds out what the model can do, as rule capabilities does."""
        models = ModelInputs(self.inputs)
        settings = ModelSettings(
            model=MODEL,
            task=models.task(self.job),
            precision="float32",
            device="cpu",
            section=self.config["models"][MODEL],
        )
        probe = load_reference(models.probe_reference(self.job))
        record, answers = json.loads(self.record.read_text()), models.probed_answers(self.job)
        capabilities = find_or_keep(probe, record, settings, answers, file)
        write_capabilities(file, self.record, capabilities)

    def write_predictions(self, answer: Answer) -> None:
        """Writes what a model with weights would say."""
        (file,) = self.layout.predictions_of_cell(DATASET, MODEL)
        self.record.parent.mkdir(parents=True)
        self.record.write_text(json.dumps(make_keys_record({})))
        kind, record = (
            self.grid.question(MODEL, DATASET).answer,
            json.loads(self.record.read_text()),
        )
        said = predictions_of(kind, self.instances, **answer(self.instances))
        expected = self.grid.predictions_provenance(MODEL, DATASET)
        facts = table_provenance(of=f"{DATASET}/{MODEL}/{file.stem}", model=record, **expected)
        write_table(said, file, answer_schema(kind), facts)

    def measure(self) -> None:
        """Makes the sums of the predictions."""
        of = DATASET, MODEL
        names = {
            "sums": self.layout.sums,
            "evidence": self.layout.evidence,
            "parts": self.layout.evidence_parts,
        }
        self.files = {name: file(*of) for name, file in names.items()}
        params = {"cell": self.cells.measure_params(self.job), "record": self.record}
        self.run("measure", self.cells.measure_files(self.job), self.files, params)
        self.evidence = read_table(self.files["evidence"], EVIDENCE)

    def statistics(self) -> None:
        """Makes the numbers of the sums."""
        of = DATASET, MODEL
        numbers = {
            "measures": self.layout.measures,
            "intervals": self.layout.intervals,
            "design": self.layout.design,
        }
        self.files |= {name: file(*of) for name, file in numbers.items()}
        made = {name: self.files[name] for name in numbers}
        inputs = {"sums": self.files["sums"], "controls": []}
        self.run("statistics", inputs, made, {"cell": self.cells.statistics_params(self.job)})
        self.measures = read_table(self.files["measures"], MEASURES)

    def report(self) -> None:
        """Makes the tables of all cells, and the page."""
        pages, layout, statistics = self.pages, self.layout, self.grid.statistics.model_dump()
        compared = {
            name: getattr(layout, name)(DATASET) for name in ("comparisons", "ranks", "agreement")
        }
        params = {
            "models": [MODEL],
            "marks": pages.dataset_marks(self.job),
            "fair_values": pages.fair_values(self.job),
        }
        params |= {"may_differ_in": [], "code": ""}
        tables = {name: [self.files[name]] for name in ("sums", "measures", "design")}
        self.run("compare", tables, compared, params | {"statistics": statistics})
        made = {
            "parquet": layout.summary("parquet"),
            "csv": layout.summary("csv"),
            "convergence": layout.convergence,
        }
        made["verdicts"] = layout.verdicts
        params = {
            "models": pages.models([DATASET]),
            "headlines": pages.headlines(),
            "controls": pages.controls,
        }
        params |= {
            "marks": pages.summary_marks(self.job),
            "claims": pages.claims(),
            "groups": pages.group_numbers(),
        }
        measures = [self.files["measures"]]
        tables = {"measures": measures, "intervals": [self.files["intervals"]]}
        self.run("summary", tables, made, params | {"statistics": statistics, "code": ""})
        self.summary, self.verdicts = (
            read_table(made["parquet"], SUMMARY),
            read_table(made["verdicts"], VERDICTS),
        )
        told = {name: [compared[name]] for name in ("comparisons", "ranks")}
        told |= {name: [self.files[name]] for name in ("measures", "evidence", "parts")}
        told |= {"instances": [layout.instances_of_cell(DATASET, MODEL)], "records": [self.record]}
        nothing: dict[str, list[Any]] = {
            name: [] for name in ("imported", "synthetic", "references", "figures")
        }
        facts = {"run_settings": pages.report_params(self.job), "figures": {}}
        told |= {
            name: made[path] for name, path in (("summary", "parquet"), ("verdicts", "verdicts"))
        }
        self.run("report", told | nothing, {"page": layout.report}, facts)
        self.page = Page(layout.report.read_text())

    @property
    def finding(self) -> Finding:
        """What is said of the model."""
        facts = GridFacts.from_provenance(read_provenance(self.layout.summary("parquet")))
        (found,) = findings(self.verdicts, self.summary, facts)
        return found

    @property
    def sentence(self) -> str:
        """What is said of the cell."""
        (cell,) = self.finding.cells
        return cell.sentence

    @property
    def verdict(self) -> dict[str, Any]:
        """The row of the cell's verdict."""
        (row,) = self.verdicts.to_dicts()
        return row

    def row(self, measure: str, **keys: Any) -> dict[str, Any]:
        """The one row of a measure that has these keys, and no others of `MEASURE_KEYS`."""
        without = [pl.col(key).is_null() for key in MEASURE_KEYS if key not in keys]
        (row,) = self.measures.filter(*without, measure=measure, **keys).to_dicts()
        assert not (row["reason"] or "").startswith(NOT_MEASURABLE), row["reason"]
        return row
