"""The role of each param is seen in its rule: read or not, compared with the last run or not."""

from __future__ import annotations

import re
from inspect import signature

import pytest
from project import ROOT

from biasgrid.runs.inputs.grid import not_compared

pytestmark = pytest.mark.family(
    "a script fetches the published predictions of underspecified questions"
)

SCRIPTS = ROOT / "workflow/scripts"
RULE = re.compile(r"^(?:use )?rule (\w+).*?\n(?=\S|\Z)", re.DOTALL | re.MULTILINE)
PARAM = re.compile(r"^        (\w+)=", re.MULTILINE)


def params_of_rules() -> dict[str, list[str]]:
    """Returns the names of the params of each script, by the script."""
    params: dict[str, list[str]] = {}
    for file in sorted((ROOT / "rules").glob("*.smk")):
        for rule in RULE.finditer(file.read_text()):
            sections = re.split(r"^    (\w+):\n", rule[0], flags=re.MULTILINE)
            texts = dict(zip(sections[1::2], sections[2::2], strict=True))
            if "script" in texts:
                script = re.search(r"scripts/(\w+).py", texts["script"])
                assert script
                params[script[1]] = PARAM.findall(texts.get("params", ""))
    return params


def test_every_rule_with_a_script_is_found() -> None:
    assert sorted(params_of_rules()) == sorted(path.stem for path in SCRIPTS.glob("*.py"))


@pytest.mark.parametrize(("script", "names"), params_of_rules().items())
def test_a_script_reads_all_params_except_triggers(script: str, names: list[str]) -> None:
    code = (SCRIPTS / f"{script}.py").read_text()
    read = set(re.findall(r"\bparams\.(\w+)", code))
    assert read == {name for name in names if not name.startswith("rerun_")}


def test_snakemake_does_not_compare_a_param_made_of_input() -> None:
    param = not_compared(lambda wildcards: f"{wildcards}!")
    assert param("job", None) == "job!"  # type: ignore[arg-type]
    from snakemake.rules import Rule

    assert Rule._is_deriving_function(param)
    assert list(signature(param).parameters) == ["wildcards", "input"]
