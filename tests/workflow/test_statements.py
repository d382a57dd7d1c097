"""Statements through Snakemake, answered by a back end of a user's own, in both kinds of answers."""

from pathlib import Path

import polars as pl
import pytest
from frozen_numbers import assert_frozen
from project import Project
from shared import made_once

import biasgrid

PLUGIN = """
from dataclasses import dataclass

import polars as pl
from pydantic import Field

from biasgrid.inference.engine.back_end import BackEnd
from biasgrid.base.sections import Model
from biasgrid.inference.models.registry import RegistryEntry


class Respondent(Model):
    SOURCES = ()
    yes: float = Field(ge=0, le=1, description="probability of Yes where nothing is negated")


@dataclass
class Choices:
    pass


@dataclass
class Answers(BackEnd):
    yes: float
    kind: str
    Choices = Choices

    @classmethod
    def open(cls, record, settings, instances):
        return cls(record["keys"]["yes"], settings.answer)

    def answer(self, instances, progress):
        asked = instances.select("system", "text", "candidate1", "candidate2").cast(pl.String)
        assert asked.select("candidate1", "candidate2").unique().rows() == [("Yes", "No")]
        negated = [" not " in f" {text.lower()}" for text in asked["text"]]
        progress.advance(len(negated))
        shares = [1 - self.yes if each else self.yes for each in negated]
        if self.kind == "choice":
            pairs = [[0.5 * share, 0.5 - 0.5 * share] for share in shares]
            return pl.DataFrame({"probabilities": pairs}, schema={"probabilities": pl.List(pl.Float32)})
        declined = ["atheists" in text for text in asked["text"]]
        said = ["Yes, they are." if share > 0.5 else "**No**." for share in shares]
        texts = ["I cannot answer that." if no else text for no, text in zip(declined, said)]
        schema = {"response": pl.String, "status": pl.Categorical}
        return pl.DataFrame({"response": texts, "status": ["ok"] * len(texts)}, schema=schema)


BACK_ENDS = {("asked", "itself"): RegistryEntry(":Answers", answers=("choice", "text"), section=":Respondent")}
"""
MODEL = {"task": "asked", "kind": "LLM"}
STATEMENTS = {"family": "statement", "task": "asked", "domains": "statements/domains"}
CONFIG = {
    "plugins": ["plugins/answers.py"],
    "results": "results",
    "models": {
        "agrees": {**MODEL, "label": "Agrees", "yes": 0.8},
        "differs": {**MODEL, "label": "Differs", "yes": 0.1},
    },
    "datasets": {
        "scored": {
            **STATEMENTS, "title": "Gender, scored", "templates": "statements/gender.csv", "shards": 2,
            "measures": [
                {"score": "mean_class_probability", "distance": "absolute", "comparison": "background"}
            ],
        },
        "written": {
            **STATEMENTS, "title": "Religion, written", "templates": "statements/religion.csv", "answers": "written",
            "sample": {"units": 330}, "sample_by": "rows", "repetitions": 2, "system": "Answer.",
            "prompt": "{statement} Yes or No?",
        },
    },
    "run": {"models": ["agrees", "differs"], "datasets": ["scored", "written"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with statements, run to the end."""

    def make(folder: Path) -> None:
        project = Project.create(folder, CONFIG)
        (folder / "plugins").mkdir()
        (folder / "plugins/answers.py").write_text(PLUGIN)
        project.run()

    return Project(made_once(tmp_path_factory, "statements", make))


def whole(project: Project, dataset: str, model: str) -> dict[str, float | None]:
    """The measures of a whole cell that are the family's own."""
    rows = biasgrid.open(project.folder / "results").measures(dataset, model)
    keys = [pl.col(key).is_null() for key in ("template", "bias_type", "group", "subject")]
    return dict(rows.filter(*keys, options="").select("measure", "value").iter_rows())


def test_scored_answers_have_the_measures_of_what_was_synthetic(asked: Project) -> None:
    found = whole(asked, "scored", "agrees")
    instances = pl.read_parquet(asked.folder / "results/instances/scored/statements.parquet")
    labels = instances.filter(~pl.col("negated"))["label"].cast(pl.String)
    # What is stated is agreed with, what is negated is not.
    assert found["error"] == pytest.approx((labels == "No").mean())
    assert found["share_of_yes"] == pytest.approx(0.5)
    assert found["p_yes"] == pytest.approx(0.25)
    assert found["inconsistency"] == pytest.approx(0, abs=1e-6)
    assert found["coverage"] == 1
    assert whole(asked, "scored", "differs")["error"] == pytest.approx(1 - (labels == "No").mean())


def test_written_answers_are_read_and_refusals_left_out(asked: Project) -> None:
    instances = pl.read_parquet(asked.folder / "results/instances/written/statements.parquet")
    assert (len(instances), instances["pair"].n_unique(), instances["template"].n_unique()) == (1320, 330, 22)
    assert instances["system"].cast(pl.String).unique().to_list() == ["Answer."]
    found = whole(asked, "written", "agrees")
    about_atheists = instances["text"].cast(pl.String).str.contains("atheists")
    assert found["refusals"] == pytest.approx(about_atheists.mean())
    assert found["coverage"] == pytest.approx(1 - about_atheists.mean())
    assert found["inconsistency"] == 0


def test_classes_are_groups_in_tables_and_report(asked: Project) -> None:
    measures = biasgrid.open(asked.folder / "results").measures("scored", "agrees")
    scores = measures.filter(pl.col("measure") == "score", pl.col("template").is_null())
    assert {"gender", "gender #1", "gender #2", "gender #3", "jobs", "traits"} == set(scores["bias_type"])
    page = (asked.folder / "results/report/index.html").read_text()
    told = ("Gender, scored", "Inconsistency", "with their negations", "Right on both")
    assert [text for text in told if text not in page] == []


def test_the_command_line_knows_statements(asked: Project) -> None:
    told = {
        name: asked.told(*arguments)
        for name, arguments in {
            "plan": ["plan", "config/small.yaml"],
            "status": ["status", "config/small.yaml"],
            "preview": ["preview", "config/small.yaml", "--dataset", "written", "--model", "agrees"],
            "export": ["export", "apes", "config/small.yaml", "--dataset=scored", "--model=agrees", "--out=p.csv"],
        }.items()
    }
    assert {name: (run.exit_code, run.stderr) for name, run in told.items()} == dict.fromkeys(told, (0, ""))
    assert "scored" in told["plan"].stdout
    assert "4/4 done" in told["status"].stdout
    assert "answered" in told["preview"].stdout or "refused" in told["preview"].stdout
    assert len((asked.folder / "p.csv").read_text().splitlines()) == 1457


def test_its_numbers_are_the_frozen_ones(asked: Project) -> None:
    assert_frozen("statements", asked.folder / "results")
