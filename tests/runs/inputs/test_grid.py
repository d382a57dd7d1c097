"""What several rules are given: files of the whole grid, and digests."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import ROOT
from small_grid import ANSWERING, ATTRIBUTES, inputs_of, job, small_inputs
from small_langfair import grid_of

from biasgrid.config import load_config, parse_config
from biasgrid.jobs.code_digest import code_digest
from biasgrid.runs.inputs.grid import GridInputs

pytestmark = pytest.mark.family(
    "stages and digests are those of underspecified questions and prompts"
)

DUMP = ANSWERING | {
    "label": "dumped",
    "predictions": {"people": {"url": "https://host/people.json", "sha256": "0" * 64}},
}


@pytest.fixture
def inputs(tmp_path: Path) -> GridInputs:
    return small_inputs(tmp_path, results="out")


def test_the_whole_grid_and_one_dataset_have_a_file_of_each_cell_in_order(
    inputs: GridInputs,
) -> None:
    people = [f"out/measures/people/{model}.parquet" for model in ("one", "two", "masked")]
    pairs = [file.replace("people", "pairs") for file in people]
    measures = inputs.layout.measures
    assert inputs.of_cells(measures) == [*people, *pairs]
    assert (
        inputs.of_cells(measures, "pairs")
        == inputs.of_dataset(measures)(job(dataset="pairs"))
        == pairs
    )
    assert inputs.of_datasets(inputs.layout.ranks) == [
        Path("out/ranks/people.parquet"),
        Path("out/ranks/pairs.parquet"),
    ]


def test_files_of_inference_match_the_shards(inputs: GridInputs) -> None:
    assert len(inputs.timings()) == len(inputs.predictions_of_cells()) == 3 * 2 + 3 * 1
    assert inputs.predictions_of_cells()[1] == Path("out/predictions/people/one/2-of-2.parquet")
    assert inputs.instances_of_variants() == [
        Path(f"out/instances/{dataset}/{variant}.parquet")
        for dataset in ("people", "pairs")
        for variant in ("qa", "lm-tiny")
    ]


def test_a_dump_replaces_record_and_shards(inputs: GridInputs) -> None:
    content = inputs.grid.model_dump(exclude_none=True)
    models = {"one": content["models"]["one"], "dumped": DUMP}
    run = {"models": ["one", "dumped"], "datasets": ["people"]}
    own = inputs_of(parse_config(content | {"models": models, "run": run}, "c.yaml"))
    assert own.is_imported("dumped")
    assert own.records() == [Path("out/models/one.json")]
    assert own.imported_predictions() == [Path("out/imported/people/dumped/predictions.parquet")]
    assert own.predictions_of_cells()[-1] == own.imported_predictions()[0]
    assert len(own.timings()) == 2


def test_a_param_of_code_digests_its_own_script_when_it_is_asked(inputs: GridInputs) -> None:
    scripts = ROOT / "workflow/scripts"
    assert inputs.code_of("compare")(job()) == code_digest(scripts / "compare.py")
    family = "biasgrid.families.underspecified"
    expand = inputs.code_of_family("expand", "expand")
    assert inputs.family(job(dataset="people")) == family
    stages = [f"{family}.ask", f"{family}.unqover"]
    assert expand(job(dataset="people")) == code_digest(scripts / "expand.py", *stages)
    # A job that was submitted has the rules of all others, and none of their scripts need be read.
    inputs.code_of("no such script")


def test_replications_that_stages_import_by_reference_are_part_of_their_code(
    tmp_path: Path,
) -> None:
    stages = inputs_of(grid_of(tmp_path)).stages(job(dataset="prompts"), "expand")
    assert stages == ["biasgrid.families.rewriting.ask", "biasgrid.families.rewriting.langfair"]


def test_digests_of_lists_change_with_their_content_alone(
    inputs: GridInputs, tmp_path: Path
) -> None:
    before = inputs.lists_digest("people", "qa")
    assert before == inputs_of(inputs.grid, with_lists=True).lists_digest("people", "qa")
    assert before != inputs.lists_digest("pairs", "qa")
    attributes = [
        line for yes, no in ATTRIBUTES[:2] for line in (f"[act] {yes}", f"[act:neg] {no}")
    ]
    (tmp_path / "word_lists/attributes.txt").write_text("\n".join(attributes))
    changed = inputs_of(inputs.grid, with_lists=True)
    assert before != changed.lists_digest("people", "qa")
    # The templates are the same.
    assert inputs.templates_digest("people", "qa") == changed.templates_digest("people", "qa")
    assert inputs.template_clusters("people", "qa") == [0, 1]


def test_a_job_that_was_submitted_reads_no_lists(inputs: GridInputs) -> None:
    assert inputs_of(inputs.grid).lists_digest("people", "qa") is None


def test_known_effects_are_of_models_that_have_learned_them_but_not_of_controls() -> None:
    inputs = inputs_of(load_config(ROOT / "config/demo-full.yaml"))
    learned = {dataset for _, dataset in inputs.synthetic_cells()}
    assert {"gender", "statements"} <= learned
    assert "placebo" in inputs.datasets
    assert "placebo" not in learned
    assert inputs.synthetic_tables() == [
        inputs.layout.synthetic(name) / "synthetic.parquet"
        for name in inputs.datasets
        if name in learned
    ]
