"""The plugins that docs/guide/extending.md shows, as files of a project."""

import re
from pathlib import Path
from typing import Any

import yaml
from project import ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall((ROOT / "docs/guide/extending.md").read_text())
PLUGINS = ("greetings", "lexicon", "phrase", "warmth")
OF_LEXICONS = '"choice") if grid.models[model].task == "lexicon" else None'
OF_ALL = '{"question-answering": "span"}.get(grid.models[model].task, "choice"))'


def code() -> dict[str, str]:
    """The plugins' code, by name."""
    blocks = [text for language, text in BLOCKS if language == "python"]
    return dict(zip(PLUGINS, blocks, strict=True))


def write_family_of_all(folder: Path, answer: str = "choice") -> None:
    """Writes the page's family for any model, `plugins/greetings.py`, and its word list: what tests
    of the core ask.

    Args:
        folder: where to.
        answer: what it asks for; of models that answer questions a span.
    """
    write_plugins(folder)
    plugin = folder / "plugins/greetings.py"
    text = plugin.read_text()
    assert OF_LEXICONS in text
    plugin.write_text(text.replace(OF_LEXICONS, OF_ALL.replace("choice", answer)))


def measure_of_formulas() -> str:
    """The `measure` that yields formulas, in place of the family's: the one block of code of
    docs/extending.md.
    """
    ((_, text),) = BLOCK.findall((ROOT / "docs/extending.md").read_text())
    return str(text)


def config() -> dict[str, Any]:
    (text,) = (text for language, text in BLOCKS if language == "yaml")
    return dict(yaml.safe_load(text))


def write_plugins(folder: Path) -> None:
    """Writes the plugins and their word list."""
    (folder / "plugins").mkdir(exist_ok=True)
    for name, text in code().items():
        (folder / "plugins" / f"{name}.py").write_text(text)
    (words,) = (text for language, text in BLOCKS if language == "text")
    (folder / "word_lists").mkdir(exist_ok=True)
    (folder / "word_lists/greetings.txt").write_text(words)


SENTENCES = {
    OF_LEXICONS: '"likelihood", {"scoring": SCORINGS[grid.models[model].task]})',
    'Question("texts", answer="likelihood"': 'Question("texts", "likelihood"',
    "rows = pl.DataFrame(lists.rows": "rows = pairs(lists.rows",
    "def expand(": """SCORINGS = {"fill-mask": "cps", "text-generation": "sum"}


def pairs(rows, schema, orient):
    partners = [rows[place ^ 1][1] for place in range(len(rows))]
    places = pl.Series("pair_place", [place % 2 for place in range(len(rows))], pl.UInt8)
    return pl.DataFrame(rows, schema=schema, orient=orient).with_columns(places, text_pair=pl.Series(partners))


def expand(""",
    'pl.col("probabilities").list.first().cast(pl.Float64)': 'pl.col("score")',
    '"mean warmth of a group\'s greetings", IS_NOT, "", "probability", design=("template",)': (
        '"mean score of a group\'s sentences", IS_NOT, "", "difference", design=("template",)'
    ),
}
"""What makes the page's family one of pairs of sentences, whose scores it compares."""


def write_family_of_sentences(folder: Path, lines: list[str]) -> None:
    """Writes a family that has sentences scored, `plugins/greetings.py`, and its word list.

    Args:
        folder: where to.
        lines: a group and a sentence each; every two are partners.
    """
    write_plugins(folder)
    plugin = folder / "plugins/greetings.py"
    text = plugin.read_text()
    for before, behind in SENTENCES.items():
        text = text.replace(before, behind)
    plugin.write_text(text)
    (folder / "word_lists/greetings.txt").write_text("\n".join(lines))
