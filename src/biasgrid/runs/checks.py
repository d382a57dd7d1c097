"""Checks before a run: files that its jobs read, words that models do not know, and the folder of
results.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from biasgrid.base.faults import Fault, InputError, UserError, first_few
from biasgrid.base.files import read_run_json, write_text
from biasgrid.base.references import load_reference
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.cost import load_fast_tokenizer
from biasgrid.runs.counts import UNKNOWN_TOKENS, checkpoint_folder, count_instances
from biasgrid.runs.layout import Layout
from biasgrid.training.squad import read_squad

if TYPE_CHECKING:
    from tokenizers import Tokenizer


LARGEST_INPUT = 256 * 2**20
"""Maximum size in bytes of files that are read before their jobs: reading takes half a minute."""
InputReader = tuple[Path, Callable[[], Any]]
"""A file, and the function that reads it."""
INSTANCES_CHECKED = 256
WORDS_LISTED = 5
SPACED_WORDS = re.compile(r"[A-Za-z\u00c0-\u052f\u05d0-\u05ea\u0620-\u06ff]{2,}")
"""Words of two letters or more in scripts that put spaces between words: Latin, Greek, Cyrillic,
Hebrew, Arabic.
"""
SPLIT_TOKENS = 3
"""Median number of tokens a word that is reported: in the language of a tokenizer, most words are
one or two.
"""
CONFIGS_NOTE = ".made_with.json"
"""The list of config files in a folder of results, with which it is made."""


def check_inputs(config: Config) -> list[str]:
    """Refuses dumps and training data of selected models that their jobs would refuse.

    Returns:
        The files that were not read, because they are larger than `LARGEST_INPUT`. Files that are
        downloaded are not there yet.

    Raises:
        InputError: with the faults of each file.
    """
    faults: list[Fault] = []
    unread: list[str] = []
    for path, read in [*dumps_of(config), *training_data(config)]:
        if path.stat().st_size > LARGEST_INPUT:
            unread.append(str(path))
            continue
        try:
            read()
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return list(dict.fromkeys(unread))


def dumps_of(config: Config) -> Iterator[InputReader]:
    """Yields the dumps of selected cells."""
    for model, dataset in config.cells():
        section, check = config.models[model], config.back_end_entry(model).check
        dump = section.source.origin(dataset)
        if dump is None or dump["file"] is None or not check:
            continue
        lists = [Path(file) for file in config.files(dataset, section.variant or "").subjects]
        # A dump needs no lists.
        known = lists if all(map(Path.is_file, lists)) else []
        path = Path(dump["file"])
        yield path, partial(load_reference(check), path, dump["sha256"], section.task, known)


def training_data(config: Config) -> Iterator[InputReader]:
    """Yields the questions that selected models are trained on.

    Other training data cannot be checked here, because that takes the tokenizer.
    """
    for model in config.run.models:
        section = config.models[model]
        if section.task != "question-answering" or section.train is None:
            continue
        data = section.train.data
        if data is not None:
            yield Path(data), partial(read_squad, data)


def refuse_unknown_subjects(config: Config, lists: Mapping[tuple[str, str], Lists]) -> None:
    """Refuses variants of masked models that would ask nothing.

    Too few of their subjects are a single token of the tokenizer.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.

    Raises:
        InputError: with each of them whose tokenizer is at hand.
    """
    tokenizers = {
        variant: question.tokenizer for variant, question in config.needed_variants.items()
    }
    filtered = {variant: content for variant, content in lists.items() if tokenizers.get(variant)}
    source, document = config.origin
    faults = []
    for (dataset, variant), (planned, count) in count_instances(Layout(config), filtered).items():
        tokenizer = tokenizers[dataset, variant]
        # Families that know more of the reason say so.
        refusal = getattr(planned, "refusal", None)
        if not count.exact or (not refusal and count.value != 0):
            continue
        if refusal:
            reason, expected = refusal
            problem = f"{reason} (tokenizer {tokenizer!r})"
        else:
            problem = (
                "nothing to ask, because too few subjects are a single token of "
                f"the tokenizer {tokenizer!r}"
            )
            expected = (
                "`target_scoring` in the dataset, which scores words of several tokens, or "
                "subjects that the tokenizer knows"
            )
        faults.append(Fault(source, f"datasets.{dataset}.variants.{variant}", problem, expected))
    if faults:
        raise InputError(document.with_lines(faults, source))


def sampled_texts(
    config: Config, lists: Mapping[tuple[str, str], Lists]
) -> Iterator[tuple[str, str, Tokenizer, list[str]]]:
    """Yields model, dataset, tokenizer and a sample of texts of each cell with a tokenizer at hand.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    layout = Layout(config)
    backends: dict[str, Tokenizer] = {}
    for name in config.run.models:
        folder = checkpoint_folder(layout.record("models", name), config.models[name].folder)
        backend = load_fast_tokenizer(folder / "tokenizer.json") if folder else None
        if backend is not None:
            backends[name] = backend
    cells = []
    for model, dataset in config.cells():
        if model in backends and not config.models[model].source.brings_instances:
            cells.append((model, dataset, config.question(model, dataset).variant))
    needed = {(dataset, variant): lists[dataset, variant] for _, dataset, variant in cells}
    samples = {}
    for key, (planned, _) in count_instances(layout, needed).items():
        instances = planned.sample(INSTANCES_CHECKED)
        samples[key] = [f"{pair} {text}" for pair, text, _ in instances]
    for model, dataset, variant in cells:
        yield model, dataset, backends[model], samples[dataset, variant]


def unknown_words(backend: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text that become the unknown token."""
    ids = {backend.token_to_id(token) for token in UNKNOWN_TOKENS} - {None}
    encoding = backend.encode(text, add_special_tokens=False)
    tokens = zip(encoding.ids, encoding.offsets, strict=True)
    return [text[begin:end] for number, (begin, end) in tokens if number in ids]


def warnings_of(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[str]:
    """Yields warnings of cells whose texts hold words that the tokenizer does not know, or splits.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    for model, dataset, backend, texts in sampled_texts(config, lists):
        counts: Counter[str] = Counter()
        texts_with_unknown = 0
        for text in texts:
            words = unknown_words(backend, text)
            counts.update(words)
            texts_with_unknown += bool(words)
        if texts_with_unknown:
            share = texts_with_unknown / len(texts)
            examples = [repr(word) for word, _ in counts.most_common()]
            yield (
                f"warning: {model} on {dataset}: {share:.0%} of the instances contain text that "
                f"the tokenizer does not know: {first_few(examples, WORDS_LISTED)}"
            )
        tokens = token_counts(backend, texts)
        typical_count = median(tokens.values()) if tokens else 0
        if typical_count >= SPLIT_TOKENS:
            by_tokens = sorted(tokens, key=lambda word: (-tokens[word], word))
            examples = [repr(word) for word in by_tokens]
            yield (
                f"warning: {model} on {dataset}: the tokenizer splits half of the words into "
                f"{typical_count:.3g} tokens or more, such as "
                f"{first_few(examples, WORDS_LISTED)}: check that the model is of the dataset's "
                "language"
            )


def token_counts(backend: Tokenizer, texts: Iterable[str]) -> dict[str, int]:
    """Returns the number of tokens of each word of some texts."""
    words: set[str] = set()
    for text in texts:
        words.update(SPACED_WORDS.findall(text))
    counts = {}
    for word in words:
        # Many tokenizers know most words only behind a space.
        encoding = backend.encode(f" {word}", add_special_tokens=False)
        counts[word] = len(encoding.ids)
    return counts


def check_servers(config: Config, layout: Layout, models: Iterable[str]) -> Iterator[str]:
    """Asks the servers of models that will be asked whether they answer, each once.

    Args:
        config: the config.
        layout: the places of its results.
        models: the names of the models.

    Yields:
        The problem of a server of which something is kept: that may be all that is needed.

    Raises:
        UserError: with the problems of the others.
    """
    refused = []
    for name in sorted(set(models)):
        try:
            config.models[name].source.probe()
        except UserError as error:
            kept = [layout.capabilities(name), layout.kept_capabilities(name)]
            kept += [layout.answers(dataset, name) for dataset in config.run.datasets]
            if any(path.exists() for path in kept):
                yield f"{name}: {error}"
            else:
                refused.append(f"{name}: {error}")
    if refused:
        raise UserError("\n".join(refused))


def remember_configs(results: str | Path, configs: Sequence[str]) -> None:
    """Notes in a folder of results the config files that it is made with, or refuses others.

    They are known by their places relative to the folder: an edited config is the same one, and so
    is one that was moved together with its results.

    Args:
        results: the folder.
        configs: paths of the files, later ones adding to earlier ones.

    Raises:
        UserError: the folder was made with other files, or cannot be written to.
    """
    note = Path(results, CONFIGS_NOTE)
    if not note.exists():
        names = [os.path.relpath(config, results) for config in configs]
        write_text(note, json.dumps(names) + "\n")
        return
    made_with = [os.path.normpath(Path(results, config)) for config in noted_configs(note)]
    if len(made_with) == len(configs):
        pairs = zip(made_with, configs, strict=True)
        if all(is_same_file(Path(noted), Path(config)) for noted, config in pairs):
            return
    before = " and ".join(os.path.relpath(file) for file in made_with)
    now = " and ".join(os.path.relpath(file) for file in configs)
    raise UserError(
        f"{results}: made with {before}, but this run uses {now} and would overwrite those "
        f"outputs; set `results` in {now} to a different folder, or remove {note} to use this one"
    )


def noted_configs(note: Path) -> list[str]:
    """Returns the config files in a note.

    Raises:
        UserError: it is damaged.
    """
    names = read_run_json(note, "a list of config files")
    return [str(name) for name in names] if isinstance(names, list) else []


def is_same_file(first: Path, second: Path) -> bool:
    """Whether two paths are the same file, or the same place without a file."""
    if first.absolute() == second.absolute():
        return True
    return first.exists() and second.exists() and first.samefile(second)
