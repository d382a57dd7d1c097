"""What is wrong with plugins is told with the config, before anything is run."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import extending
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.base.references import load_reference
from biasgrid.cli.app import app
from biasgrid.config import Config, parse_config, registry
from biasgrid.inference.checkpoints.fetch import make_source_record
from biasgrid.inference.engine.back_end import PromptPart

BUILT_IN = next(iter(registry.BUILT_IN.families))
FAMILY, BACK_END, SOURCE = (extending.code()[name] for name in ("greetings", "lexicon", "phrase"))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the plugins of the docs, each test's own."""
    monkeypatch.chdir(tmp_path)
    extending.write_plugins(tmp_path)
    return tmp_path


def read(*plugins: str) -> Config:
    content = extending.config()
    return parse_config(content | {"plugins": [*content["plugins"], *plugins]}, "c.yaml")


def faults(*plugins: str) -> list[str]:
    with pytest.raises(InputError) as refused:
        read(*plugins)
    return [str(fault) for fault in refused.value.faults]


def test_plugins_are_as_good_as_what_is_built_in() -> None:
    config = read()
    assert config.cells() == [("warm", "greetings"), ("cold", "greetings")]
    assert config.dataset_figures("greetings") == ["warmth"]
    assert list(config.dataset_measures("greetings")) == ["warmth", "gap"]


def test_keys_of_a_plugin_are_checked() -> None:
    content = extending.config()
    content["datasets"]["greetings"] |= {"text": "x.txt"}
    content["models"]["warm"] |= {"words": "glad", "folder": "somewhere"}
    with pytest.raises(InputError) as refused:
        parse_config(content, "c.yaml")
    text = str(refused.value)
    assert "datasets.greetings.text: unknown key (did you mean 'texts'?)" in text
    assert "models.warm.words: 'glad'; expected a list" in text


def test_a_back_end_without_weights_takes_no_checkpoint() -> None:
    content = extending.config()
    content["models"]["warm"] |= {"folder": "somewhere"}
    with pytest.raises(InputError, match="expected no `folder`, as the task needs no weights"):
        parse_config(content, "c.yaml")


@pytest.fixture
def anyone(project: Path) -> None:
    """Has the page's family ask any model for texts."""
    extending.write_family_of_all(project, "text")


def with_source(**keys: object) -> dict[str, Any]:
    """A config whose model comes from a plugin's source."""
    model = {"task": "text-generation", "kind": "API", "label": "A parrot", **keys}
    dataset = {"family": "greetings", "title": "G", "texts": "greetings.txt"}
    run = {"models": ["parrot"], "datasets": ["greetings"]}
    plugins = ["plugins/phrase.py", "plugins/greetings.py"]
    return {
        "plugins": plugins,
        "models": {"parrot": model},
        "datasets": {"greetings": dataset},
        "run": run,
    }


@pytest.mark.usefixtures("anyone")
def test_a_source_of_a_plugin_is_as_good_as_what_is_built_in() -> None:
    config = parse_config(with_source(phrase="Yes."), "c.yaml")
    assert config.models["parrot"].source.name == "phrase"
    assert config.model_record_arguments("parrot") == {"keys": {"phrase": "Yes."}, "files": []}
    assert config.deciding_settings("parrot", "greetings") == {}
    assert config.cells() == [("parrot", "greetings")]
    asked = pl.DataFrame({"instance": [4, 5], "key": [7, 8]})
    back_end = load_reference(config.back_end_entry("parrot").path)
    opened = back_end.open(make_source_record(config.model_record_arguments("parrot")), None, asked)
    (answers,) = opened.answer([PromptPart.without_answers(asked)])
    assert answers.select("instance", "response").rows() == [(4, "Yes."), (5, "Yes.")]


@pytest.mark.usefixtures("anyone")
def test_a_source_of_a_plugin_is_alone_and_only_where_it_is_named() -> None:
    with pytest.raises(
        InputError, match=r"exactly one of `checkpoint`, .*, `random`, `answers` and `phrase`"
    ):
        parse_config(with_source(phrase="Yes.", random={"seed": 1}), "c.yaml")
    with pytest.raises(InputError, match="unknown key"):
        parse_config(with_source(phrase="Yes.") | {"plugins": ["plugins/greetings.py"]}, "c.yaml")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (None, "does not exist; expected the path of a Python file or package"),
        (
            "raise RuntimeError('no')",
            "fails while it is being imported (RuntimeError: no); expected code that runs",
        ),
        ("def broken(:", "fails while it is being imported (SyntaxError: "),
        (
            "import sys\nsys.exit(0)",
            "ends the program while it is being imported (sys.exit(0)); expected code that runs",
        ),
        (
            "raise SystemExit",
            "ends the program while it is being imported (sys.exit()); expected code that runs",
        ),
        (
            "class End(BaseException): ...\nraise End('now')",
            "fails while it is being imported (End: now); expected code",
        ),
        (
            "import not_there",
            "cannot be imported (No module named 'not_there'); expected code that can",
        ),
        (
            "VALUE = 1",
            (
                "defines nothing that biasgrid can use; expected FAMILY, BACK_ENDS or "
                "a function `figure`"
            ),
        ),
        (
            "FAMILY = 'mine'",
            "has a FAMILY of the type str; expected an object of a subclass of Family",
        ),
        ("def figure(measures, context): ...", "has a figure without a CAPTION; expected text"),
        (
            FAMILY,
            (
                "defines a family called 'greetings', a name that is already taken; expected a "
                "unique name"
            ),
        ),
        (
            FAMILY.replace('name = "greetings"', f'name = "{BUILT_IN}"'),
            f"defines a family called {BUILT_IN!r}, a name that is already taken",
        ),
        (
            FAMILY.replace('name = "greetings"', 'name = "b"').replace("def observe", "def look"),
            "lacks `observe`;",
        ),
        (FAMILY.replace("def question", "def ask"), "abstract method"),
        (
            BACK_END.replace(':LexiconModel"', ':Lexicons"'),
            "names plugins/other.py:Lexicons; expected a subclass of",
        ),
        (
            BACK_END.replace(':LexiconModel"', ':Lexicon"'),
            "names plugins/other.py:Lexicon; expected a subclass of Mod",
        ),
        (
            SOURCE.replace('":Phrase"', '":Phrases"'),
            "names plugins/other.py:Phrases; expected a subclass of ModelSo",
        ),
        (
            BACK_END.replace("SOURCES = ()", "SOURCES = ('words',)"),
            "includes 'words'; expected one of dump, weights, or none",
        ),
        (BACK_END, "defines a back end called ('lexicon', 'itself'), a name that is already taken"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_fault(
    project: Path, code: str | None, message: str
) -> None:
    if code is not None:
        (project / "plugins/other.py").write_text(code)
    (fault,) = faults("plugins/other.py")
    assert fault.startswith("c.yaml, plugins[3]: 'plugins/other.py' ")
    assert message in fault


def test_a_family_whose_bias_is_put_in_has_known_effects_and_a_corpus(project: Path) -> None:
    own = FAMILY.replace('name = "greetings"', 'name = "b"\n    is_synthetic = True')
    (project / "plugins/other.py").write_text(own + "\ncorpus = print\n")
    (fault,) = faults("plugins/other.py")
    assert "lacks `known_effects`;" in fault
    (project / "plugins/other.py").write_text(own + "\ncorpus = known_effects = print\n")
    assert read("plugins/other.py").cells()


def test_a_family_may_be_a_package(project: Path) -> None:
    stance = project / "plugins/stance"
    stance.mkdir()
    (stance / "__init__.py").touch()
    (stance / "family.py").write_text(FAMILY.replace('name = "greetings"', 'name = "stance"'))
    (fault,) = faults("plugins/stance")
    assert "lacks `read`; expected it in plugins/stance/read.py" in fault
    (stance / "data.py").write_text("def read(:")
    (fault,) = faults("plugins/stance")
    assert "includes plugins/stance/data.py, which is not Python (" in fault
    for module in ("data", "measures"):
        (stance / f"{module}.py").write_text(
            "from .family import KEYS, expand, measure, observe, read\n"
        )
    assert "stance" in read("plugins/stance").registry.families


def test_an_installed_plugin_is_found_by_its_entry_point(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "installed_greetings.py").write_text(
        FAMILY.replace('name = "greetings"', 'name = "installed"')
    )
    monkeypatch.syspath_prepend(project)
    points = [EntryPoint("greetings", "installed_greetings", registry.PLUGINS)]
    monkeypatch.setattr(
        registry, "entry_points", lambda group: points if group == registry.PLUGINS else []
    )
    assert read().registry.families["installed"] == "installed_greetings"


def test_an_installed_plugin_without_the_module_of_a_stage_is_a_fault(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = project / "installed_stance"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "family.py").write_text(FAMILY)
    (project / "c.yaml").write_text(yaml.safe_dump(extending.config()))
    monkeypatch.syspath_prepend(project)
    points = [EntryPoint("stance", "installed_stance", registry.PLUGINS)]
    monkeypatch.setattr(
        registry, "entry_points", lambda group: points if group == registry.PLUGINS else []
    )
    result = CliRunner().invoke(app, ["validate", "c.yaml"])
    assert result.exit_code == 2
    assert (
        "entry point stance: 'installed_stance' lacks `read`; expected it in installed_stance.read"
    ) in result.stderr


def test_no_code_runs_that_the_config_does_not_name(project: Path) -> None:
    (project / "plugins/other.py").write_text("raise RuntimeError('was run')")
    assert read().registry.families.keys() >= {"greetings"}


def test_plugins_of_one_file_name_are_two(project: Path) -> None:
    (project / "more").mkdir()
    (project / "more/greetings.py").write_text(
        FAMILY.replace('name = "greetings"', 'name = "others"')
    )
    families = read("more/greetings.py").registry.families
    assert (families["greetings"], families["others"]) == (
        "plugins/greetings.py",
        "more/greetings.py",
    )
    assert read("more/greetings.py").registry.family("others").name == "others"


@pytest.mark.parametrize(
    ("function", "code", "says"),
    [
        ("read", "raise KeyError('x')", "fails (KeyError: 'x')"),
        ("read", "raise SystemExit(0)", "ends the program (sys.exit(0))"),
        ("question", "import sys; sys.exit()", "ends the program (sys.exit())"),
        ("measures", "1 / 0", "fails (ZeroDivisionError: division by zero)"),
    ],
)
def test_what_a_plugin_raises_while_a_config_is_validated_is_a_fault_of_its_file(
    project: Path, function: str, code: str, says: str
) -> None:
    file, config = project / "plugins/greetings.py", project / "c.yaml"
    file.write_text(
        re.sub(rf"( *)(def {function}\(.*)", rf"\1\2\n\1    {code}", file.read_text(), count=1)
    )
    config.write_text(yaml.safe_dump(extending.config()))
    result = CliRunner().invoke(app, ["validate", str(config)])
    assert result.exit_code == 2
    assert re.search(
        rf"  \S*plugins/greetings.py, line \d+: {re.escape(says)}; expected code that runs",
        result.stderr,
    )


def test_validate_names_the_plugins_whose_code_it_ran(project: Path) -> None:
    (project / "c.yaml").write_text(yaml.safe_dump(extending.config()))
    result = CliRunner().invoke(app, ["validate", "c.yaml"])
    assert (
        "The code of plugins/greetings.py, plugins/lexicon.py, plugins/warmth.py was run."
        in result.stdout
    )
