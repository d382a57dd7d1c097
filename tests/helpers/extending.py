"""The plugins that docs/extending.md shows, as files of a project."""

import re
from pathlib import Path
from typing import Any

import yaml
from project import ROOT

PAGE = (ROOT / "docs/extending.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
PLUGINS = ("greetings", "lexicon", "phrase", "warmth")
OF_LEXICONS = '"choice") if grid.models[model].task == "lexicon" else None'
OF_ALL = '{"question-answering": "span"}.get(grid.models[model].task, "choice"))'
SUMS = "def measure("
"""How the block begins that is no plugin, but another way to measure in one."""


def code() -> dict[str, str]:
    """The plugins' code, by name."""
    blocks = [text for language, text in BLOCKS if language == "python" and not text.startswith(SUMS)]
    return dict(zip(PLUGINS, blocks, strict=True))


def write_family_of_all(folder: Path, answer: str = "choice") -> None:
    """Writes the page's family for any model, `plugins/greetings.py`, and its word list: what tests of the core ask.

    Args:
        folder: where to.
        answer: what it asks for; of models that answer questions a span.
    """
    write_plugins(folder)
    plugin = folder / "plugins/greetings.py"
    text = plugin.read_text()
    assert OF_LEXICONS in text
    plugin.write_text(text.replace(OF_LEXICONS, OF_ALL.replace("choice", answer)))


def measure_of_sums() -> str:
    """The `measure` that yields sums."""
    (text,) = (text for language, text in BLOCKS if language == "python" and text.startswith(SUMS))
    return text


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
