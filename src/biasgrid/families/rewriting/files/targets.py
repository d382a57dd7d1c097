"""Reads the words whose nearness to words of groups is measured, and those that say too little for it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.text import read_text
from biasgrid.families.rewriting.section import RewritingDataset

WORDS_EXPECTED = "words, one a line"
NLTK = "nltk"
"""Stands for NLTK's stop words in place of a file's name."""
OF_NLTK = "corpora/stopwords/english"
"""Where NLTK's data have them."""
DOWNLOAD = "python -m nltk.downloader stopwords"


def read_targets(folder: Path, section: RewritingDataset) -> tuple[list[str], list[Fault]]:
    """Returns the words of a dataset in lower case, none where it names no file, and what is wrong with the file."""
    return ([], []) if section.targets is None else read_word_file(folder / section.targets)


def read_stop_words(folder: Path, section: RewritingDataset) -> tuple[list[str] | None, list[Fault]]:
    """Returns the stop words of a dataset, None for our own or where none are needed, and what is wrong with them."""
    # LangFair takes NLTK's, and its numbers hang on them.
    source = section.stop_words or (NLTK if section.mode == "langfair" else None)
    if source is None or section.targets is None:
        return None, []
    return nltk_stop_words() if source == NLTK else read_word_file(folder / source)


@cache
def read_word_file(path: Path) -> tuple[list[str], list[Fault]]:
    """Reads words; # begins a comment."""
    try:
        lines = [line.partition("#")[0].strip().lower() for line in read_text(path, WORDS_EXPECTED).split("\n")]
    except InputError as error:
        return [], error.faults
    words = list(dict.fromkeys(filter(None, lines)))
    return words, [] if words else [Fault(str(path), "", "holds no words", WORDS_EXPECTED)]


def nltk_stop_words() -> tuple[list[str], list[Fault]]:
    """Reads the English stop words of the user's NLTK data."""
    import nltk.data

    try:
        with nltk.data.find(OF_NLTK).open() as file:
            text = file.read().decode("utf-8")
    except (LookupError, OSError, ValueError) as error:
        problem = "is not there" if isinstance(error, LookupError) else f"cannot be read ({error})"
        expected = f"the stop words of NLTK (`{DOWNLOAD}`), or `stop_words` with a file of words, one a line"
        return [], [Fault("your NLTK data", OF_NLTK, problem, expected)]
    return sorted({*text.split()}), []
