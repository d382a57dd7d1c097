"""Words that models cannot read, found before anything is run where their tokenizers are at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from biasgrid.base.faults import first_few
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.cost import load_backend
from biasgrid.runs.counts import UNKNOWN_TOKENS, checkpoint_folder, count_instances
from biasgrid.runs.layout import Layout

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SAMPLE = 256
NAMED = 5


class Unread(NamedTuple):
    """What the tokenizer of a model does not know of a dataset.

    Attributes:
        model, dataset: the cell.
        share: in how many of the instances that were looked at.
        words: the words, the most frequent first.
    """

    model: str
    dataset: str
    share: float
    words: list[str]


def unread_words(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[Unread]:
    """Yields the cells of which a sample holds words that the model's tokenizer does not know.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
    """
    layout = Layout(config)
    backends = {name: backend for name in config.run.models if (backend := backend_of(layout, name))}
    cells = [
        (model, dataset, config.question(model, dataset).variant)
        for model, dataset in config.cells()
        if model in backends and not config.models[model].predictions
    ]
    needed = {(dataset, variant): lists[dataset, variant] for _, dataset, variant in cells}
    asked = {variant: of.sample(SAMPLE) for variant, (of, _) in count_instances(layout, needed).items()}
    for model, dataset, variant in cells:
        texts = [f"{pair} {text}" for pair, text, _ in asked[dataset, variant]]
        unknown = [unknown_words(backends[model], text) for text in texts]
        if any(unknown):
            words = [word for word, _ in Counter(word for found in unknown for word in found).most_common()]
            yield Unread(model, dataset, sum(map(bool, unknown)) / len(texts), words)


def backend_of(layout: Layout, model: str) -> Tokenizer | None:
    """Returns the tokenizer of a model, None where its tokenizer.json is not at hand."""
    folder = checkpoint_folder(layout.record("models", model), layout.config.models[model].folder)
    return load_backend(folder / "tokenizer.json") if folder else None


def unknown_words(backend: Tokenizer, text: str) -> list[str]:
    """Returns the parts of a text for which the unknown token stands."""
    ids = {backend.token_to_id(token) for token in UNKNOWN_TOKENS} - {None}
    encoding = backend.encode(text, add_special_tokens=False)
    places = zip(encoding.ids, encoding.offsets, strict=True)
    return [text[begin:end] for number, (begin, end) in places if number in ids]


def warnings_of(found: Iterable[Unread]) -> Iterator[str]:
    """Words each of them in a line."""
    for model, dataset, share, words in found:
        named = first_few([*map(repr, words)], NAMED)
        yield (
            f"warning: {model} on {dataset}: {share:.0%} of the instances have text that the tokenizer does not know: "
            f"{named}"
        )
