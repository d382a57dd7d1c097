"""What README says of make and of the workflow is what they do."""

from __future__ import annotations

import re
from pathlib import Path

from documents import read_document
from project import ROOT, Project

README = read_document("README.md")


def jobs_shown(name: str) -> dict[str, int]:
    """The jobs of each rule in a plan that README shows."""
    (plan,) = re.findall(rf"<!-- plan: {name} -->\n```text\n(.*?)```", README, flags=re.DOTALL)
    jobs = re.findall(r"^(\w+) +(\d+)$", plan, flags=re.MULTILINE)
    return {rule: int(count) for rule, count in jobs if rule not in ("all", "total")}


def test_the_plan_after_a_changed_key_is_the_one_that_readme_shows(demo: Project, tmp_path: Path):
    project = demo.clone(tmp_path / "clone")
    assert project.planned() == {}
    config = project.read_config()
    assert config["scoring"] == "exact"
    config["scoring"] = "unqover"
    project.write_config(config)
    assert project.planned() == jobs_shown("another scoring") != {}


def test_targets_and_configs_that_readme_names_are_there():
    targets = set(re.findall(r"(?:^|`)make ([\w-]+)", README, flags=re.MULTILINE))
    assert targets == {"demo", "test"}
    assert targets <= set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    configs = set(re.findall(r"biasgrid run (config/\S+)", README))
    assert configs == {"config/demo.yaml"}
    assert all((ROOT / config).is_file() for config in configs)
