"""Files that a config names: beside it, else in the folder where the command runs, else among the
workflow's own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from project import ROOT, Project
from small_config import CONTENT
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.cli.app import app
from biasgrid.config import ConfigFolders, load_config, load_word_lists, parse_config, read_config

pytestmark = pytest.mark.family("the paths are those of word lists and packs")

RUNNER = CliRunner()
ASKED = CONTENT | {"run": {"models": ["answers"], "datasets": ["religion"]}}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config in `mine/`, with its word lists beside it, while the command runs in `here/`."""
    for name in ("mine", "here"):
        (tmp_path / name).mkdir()
    shutil.copytree(ROOT / "word_lists", tmp_path / "mine" / "wl")
    (tmp_path / "mine" / "c.yaml").write_text(yaml.safe_dump(ASKED | {"word_lists": "wl"}))
    monkeypatch.chdir(tmp_path / "here")
    return Path("../mine/c.yaml")


def test_files_next_to_a_config_are_found_from_everywhere(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_config(config).word_lists == "../mine/wl"
    assert load_config(config.resolve()).word_lists == "../mine/wl"
    assert RUNNER.invoke(app, ["validate", str(config)]).exit_code == 0
    monkeypatch.chdir(config.parent)
    assert load_config("c.yaml").word_lists == "wl"


def test_of_two_files_the_one_next_to_the_config_is_taken_and_both_are_named(
    config: Path,
) -> None:
    shutil.copytree("../mine/wl", "wl")
    told = RUNNER.invoke(app, ["validate", str(config)])
    assert told.exit_code == 0
    assert (
        "word_lists: 'wl' is both ../mine/wl beside the config and wl in this folder; the "
        "first one is used"
    ) in told.output
    # One and the same is not two.
    shutil.rmtree("wl")
    Path("wl").symlink_to("../mine/wl")
    assert "the first one is used" not in RUNNER.invoke(app, ["validate", str(config)]).output


@pytest.mark.parametrize("command", ["validate", pytest.param("run", marks=pytest.mark.slow)])
def test_a_path_in_the_home_folder_is_read_and_that_is_said(
    command: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = config.parent.resolve()
    monkeypatch.setenv("HOME", str(home))
    config.write_text(yaml.safe_dump(ASKED | {"word_lists": "~/wl"}))
    assert load_config(config).word_lists == f"{home}/wl"
    printed = RUNNER.invoke(app, [command, str(config)]).output
    assert printed.count(f"word_lists: '~/wl' is read as {home}/wl") == 1


def test_what_is_in_neither_folder_is_reported_with_both_and_the_nearest_name(config: Path) -> None:
    (config.parent / "wl").rename(config.parent / "word-lists")
    (config.parent / "wl2").mkdir()
    with pytest.raises(
        InputError,
        match=r"no folder 'wl' \(did you mean 'wl2'\?\) \(looked for in ../mine and this fo",
    ):
        load_word_lists(load_config(config))
    content = read_config(config)
    content["models"]["answers"] = {
        "task": "question-answering",
        "variant": "qa",
        "kind": "QA",
        "label": "x",
    }
    content["models"]["answers"]["folder"] = "modl"
    config.write_text(yaml.safe_dump(content | {"plugins": ["plug.py"]}))
    with pytest.raises(
        InputError, match=r"'plug.py' does not exist \(looked for in ../mine and this folder\)"
    ):
        load_config(config)
    config.write_text(yaml.safe_dump(content))
    with pytest.raises(
        InputError,
        match=r"'modl' is not a folder \(looked for in ../mine and this folder\); expected",
    ):
        load_config(config)


def test_every_path_of_a_config_may_be_next_to_it(config: Path) -> None:
    (config.parent / "plug.py").write_text("CAPTION = 'x'\ndef figure(): ...\n")
    (config.parent / "dump.json").write_text("{}")
    content = read_config(config)
    content["plugins"] = ["plug.py"]
    content["models"]["answers"] |= {"predictions": {"religion": {"file": "dump.json"}}}
    for key in ("checkpoint", "revision"):
        del content["models"]["answers"][key]
    config.write_text(yaml.safe_dump(content))
    parsed = load_config(config)
    assert parsed.plugins == ["../mine/plug.py"]
    assert parsed.models["answers"].predictions["religion"].file == "../mine/dump.json"


def test_what_the_command_line_gives_is_where_the_command_runs(config: Path) -> None:
    shutil.copytree("../mine/wl", "wl")
    assert load_config(config, {"word_lists": "wl"}).word_lists == "wl"
    folders = ConfigFolders.of([config], ["word_lists"])
    assert parse_config(read_config(config), "c.yaml", folders=folders).word_lists == "wl"


def test_a_later_config_takes_precedence_in_the_working_folder_too(config: Path) -> None:
    shutil.copytree("../mine/wl", "wl")
    for files, expected in (([config, "y.yaml"], "wl"), (["y.yaml", config], "../mine/wl")):
        folders = ConfigFolders.of(files)
        assert parse_config(read_config(config), "c", folders=folders).word_lists == expected
    here_alone = ConfigFolders.of(["y.yaml"])
    assert here_alone.find("word_lists", "./wl") == "./wl"
    assert here_alone.searched_folders("models.a.folder", "m") == ["."]


def test_word_lists_and_references_of_the_workflow_are_found_from_everywhere(config: Path) -> None:
    own = {"word_lists": "word_lists", "report": {"references": ["reference/demo.json"]}}
    config.write_text(yaml.safe_dump(ASKED | own))
    parsed = load_config(config)
    assert Path(parsed.word_lists).samefile(ROOT / "word_lists")
    assert Path(parsed.report.references[0]).samefile(ROOT / "reference/demo.json")
    assert load_word_lists(parsed)
    # Those of the user come first.
    shutil.copytree("../mine/wl", "word_lists")
    assert load_config(config).word_lists == "word_lists"
    shutil.copytree("../mine/wl", "../mine/word_lists")
    assert load_config(config).word_lists == "../mine/word_lists"


def test_nothing_else_is_looked_for_in_the_workflow(config: Path) -> None:
    config.write_text(yaml.safe_dump(ASKED | {"plugins": ["docs/site.py"]}))
    with pytest.raises(
        InputError, match=r"'docs/site.py' does not exist \(looked for in ../mine and this folder\)"
    ):
        load_config(config)
    assert (
        load_config(config, {"plugins": [], "word_lists": "word_lists"}).word_lists == "word_lists"
    )
    config.write_text(yaml.safe_dump(ASKED | {"word_lists": "word_list"}))
    with pytest.raises(
        InputError, match=r"\(did you mean 'word_lists'\?\) \(looked for in .* and .*\)"
    ):
        load_word_lists(load_config(config))


@pytest.mark.slow
def test_snakemake_finds_the_same_files_from_any_folder(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", ASKED)
    shutil.move(project.folder / "word_lists", project.folder / "config/wl")
    project.write_config(ASKED | {"word_lists": "wl"})
    table = "results/instances/religion/qa.parquet"
    project.run(table)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    project.run("--directory", str(elsewhere), "--", table)
    assert (elsewhere / table).read_bytes() == (project.folder / table).read_bytes()
