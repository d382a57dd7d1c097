"""What packaging/ names is in the repository: images and conda packages are built of it elsewhere,
not in tests.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(
    line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
)
OTHER_NAMES = {"torch": "pytorch", "vaderSentiment": "vadersentiment", "pandera[polars]": "pandera"}
"""Packages whose conda packages have another name."""
IMAGES = ("Dockerfile", "biasgrid.def")


def steps_of_dockerfile() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, with lines that go on in the next one made whole."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "packaging/Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def sections_of_definition() -> dict[str, str]:
    """The sections of the apptainer definition, by name; `header` is before the first."""
    name, sections = "header", {"header": ""}
    for line in (ROOT / "packaging/biasgrid.def").read_text().splitlines():
        if line.startswith("%"):
            name = line[1:]
            assert name not in sections
            sections[name] = ""
        elif not line.startswith("#"):
            sections[name] += f"{line.strip()}\n"
    return sections


def copied(image: str) -> dict[str, str]:
    """What an image copies from the repository: each path's name in the folder of the sources."""
    if image == "Dockerfile":
        lines = [rest.split() for name, rest in steps_of_dockerfile() if name == "COPY"]
        return {
            source: f"{target.removeprefix('./')}{source if target == './' else ''}".rstrip("/")
            for *sources, target in lines
            for source in sources
        }
    lines = [line.split() for line in sections_of_definition()["files"].splitlines() if line]
    return {source: target.removeprefix("/opt/biasgrid/") for source, target in lines}


def installs(image: str) -> str:
    """What an image installs: one line of pip."""
    if image == "Dockerfile":
        lines = [rest for name, rest in steps_of_dockerfile() if name == "RUN"]
    else:
        lines = [
            line
            for line in sections_of_definition()["post"].splitlines()
            if line and not line.startswith("cd ")
        ]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("image", IMAGES)
def test_what_an_image_copies_is_there_and_all_that_the_package_needs(image: str) -> None:
    assert all(
        source == target and (ROOT / source).exists() for source, target in copied(image).items()
    )
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]
    needed = {path.split("/")[0] for path in wheel["only-include"]} | set(wheel["force-include"])
    needed |= {"pyproject.toml", "constraints.txt", PROJECT["readme"], *PROJECT["license-files"]}
    assert set(copied(image)) == needed


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_installs_pinned_packages_and_extras_that_there_are(image: str) -> None:
    line = installs(image)
    assert line.startswith("pip install ")
    assert "--constraint constraints.txt" in line
    (extras,) = re.findall(r"'\.\[(.*)\]'", line)
    wanted = [PROJECT["optional-dependencies"][extra] for extra in extras.split(",")]
    assert all(
        re.split(r"[<>=\[]", package)[0] in PINS for packages in wanted for package in packages
    )
    assert "torch" in PINS


def test_the_base_images_have_a_python_that_is_tested() -> None:
    (docker,) = [rest for name, rest in steps_of_dockerfile() if name == "FROM"]
    header = dict(
        line.split(": ") for line in sections_of_definition()["header"].splitlines() if line
    )
    assert header == {"Bootstrap": "docker", "From": docker}
    version = re.fullmatch(r"python:(3\.\d+)-slim", docker)[1]
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    labels = dict(
        line.split(" ") for line in sections_of_definition()["labels"].splitlines() if line
    )
    assert labels == {"License": PROJECT["license"]}


def test_the_images_run_the_command() -> None:
    assert dict(steps_of_dockerfile())["ENTRYPOINT"] == '["biasgrid"]'
    assert sections_of_definition()["runscript"].strip() == 'exec biasgrid "$@"'
    assert "biasgrid" in PROJECT["scripts"]


@pytest.mark.slow
def test_a_wheel_can_be_built_of_what_an_image_copies(tmp_path: Path) -> None:
    for source in copied("Dockerfile"):
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, tmp_path / source)
    build = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path / "made"),
        ".",
    ]
    subprocess.run([sys.executable, "-m", "pip", *build], cwd=tmp_path, check=True)
    (wheel,) = (tmp_path / "made").glob("*.whl")
    assert "biasgrid/shipped/workflow/Snakefile" in zipfile.ZipFile(wheel).namelist()


def test_no_image_is_named_before_one_is_published() -> None:
    assert not [
        file
        for file in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]
        if "container" in file.read_text()
    ]
    (line,) = re.findall(
        r"^containerized: .*$", (ROOT / "docs/slurm.md").read_text(), flags=re.MULTILINE
    )
    assert line == 'containerized: "docker://OWNER/biasgrid:VERSION"'


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    text = (ROOT / "packaging/recipe.yaml").read_text()
    recipe = yaml.safe_load(text)
    assert recipe["schema_version"] == 1
    context = recipe["context"]
    assert context["version"] == PROJECT["version"]
    assert f">={context['python_min']}" == PROJECT["requires-python"]
    assert set(re.findall(r"\$\{\{ (\w+) \}\}", text)) == set(context)
    assert (ROOT / "packaging" / recipe["source"]["path"]).samefile(ROOT)
    python, *packages = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    named = [
        re.fullmatch(r"([\w-]+(?:\[\w+\])?)(.*)", package).groups()
        for package in PROJECT["dependencies"]
    ]
    assert [package.partition(" ")[::2] for package in packages] == [
        (OTHER_NAMES.get(name, name), bounds) for name, bounds in named
    ]
    assert recipe["build"]["noarch"] == "python"
    entries = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entries
    assert recipe["about"] == {
        "summary": PROJECT["description"],
        "license": PROJECT["license"],
        "license_file": PROJECT["license-files"][0],
    }
    built = {package.replace(" ", "") for package in recipe["requirements"]["host"]} - {"pip"}
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert built == {"python${{python_min}}.*", *backend}


def test_the_catalog_of_snakemake_workflows_finds_what_it_asks_for() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    # The environment of the rules cannot be made elsewhere than in the repository.
    assert not any(usage["software-stack-deployment"].values())
    assert 'include: "../Snakefile"' in (ROOT / "workflow/Snakefile").read_text()
    assert [*(ROOT / "rules").glob("*.smk")]
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    headings = re.findall(
        r"^##+ (.*)$", (ROOT / "config/README.md").read_text(), flags=re.MULTILINE
    )
    assert [
        one
        for one in headings
        if one in ("Workflow overview", "Running the workflow", "Parameters")
    ] == [
        "Workflow overview",
        "Running the workflow",
        "Parameters",
    ]
