"""Files that lie beside an output are made again with it."""

import json
from pathlib import Path

import pytest

from biasgrid.runs.audit import audit_results, command, digest_results
from biasgrid.runs.layout import FAILED_MANIFEST, MANIFEST


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A finished run whose report has a file of the cells of a dataset."""
    report = tmp_path / "results" / "report"
    report.mkdir(parents=True)
    for name in ("index", "dataset-gender"):
        (report / f"{name}.html").write_text(name)
    facts = {"files": digest_results(report.parent), "config_file": "config/two.yaml"}
    (report.parent / MANIFEST).write_text(json.dumps(facts))
    return report.parent


def test_all_files_of_a_report_are_known(results: Path) -> None:
    assert (audit_results(results).files, audit_results(results).findings) == (2, [])


@pytest.mark.parametrize(
    ("text", "removal"), [(None, ""), ("changed", ""), ("", "rm -r {}/report && ")]
)
def test_a_file_of_a_dataset_is_made_again_with_the_report(
    results: Path, text: str | None, removal: str
) -> None:
    file = results / "report" / "dataset-gender.html"
    file.unlink() if text is None else file.write_text(text)
    found = audit_results(results)
    assert [each.file for each in found.findings] == ["report/dataset-gender.html"]
    run = f"biasgrid run config/two.yaml -- --forcerun {results}/report/index.html"
    assert found.command == removal.format(results) + run


def test_a_config_is_run_by_biasgrid_itself() -> None:
    assert command("my config.yaml") == "biasgrid run 'my config.yaml'"
    assert command("a.yaml", targets=["b c"]) == "biasgrid run a.yaml 'b c'"


def test_all_files_of_a_config_are_in_the_command() -> None:
    files = "config/a b.yaml + config/more.yaml"
    assert command(files) == "snakemake --configfile 'config/a b.yaml' config/more.yaml --cores all"


def test_settings_on_the_command_line_are_the_readers_to_add() -> None:
    config = "my config.yaml and --config"
    assert command(config) == "snakemake --configfile 'my config.yaml' --config ... --cores all"
    assert command(config, [], ["results/a b.csv"], ["results/c.csv"]) == (
        "snakemake 'results/a b.csv' --configfile 'my config.yaml' --config ... --cores all "
        "--forcerun results/c.csv"
    )


def test_a_failed_run_has_a_command_to_continue_it_even_if_nothing_is_missing(
    results: Path,
) -> None:
    assert audit_results(results).command == ""
    manifest = json.loads((results / MANIFEST).read_text())
    failed = manifest | {"missing": [], "failures": []}
    (results / FAILED_MANIFEST).write_text(json.dumps(failed))
    audit = audit_results(results)
    assert (audit.findings, audit.failures) == ([], [])
    assert audit.command == "biasgrid run config/two.yaml"
