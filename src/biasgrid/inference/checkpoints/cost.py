"""What a model costs to run, told from a checkpoint's files without loading it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from math import prod
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.files import CONFIG, read_checkpoint_json
from biasgrid.inference.scorings import BLANK, SCORINGS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def parameters(folder: Path) -> int | None:
    """Counts the parameters that every token of an input passes through.

    These are all parameters but the embeddings, which are looked up, and the projection to the
    vocabulary, which the engine computes at the mask alone: those with `embed` in their name or
    with a row for each word of the vocabulary. They are counted in the headers of the safetensors
    files. Where the weights are pickled, the layers that the config.json tells of are counted, 2 d
    L (2 d + f) for L layers of width d and inner width f (Kaplan et al. 2020, Scaling Laws for
    Neural Language Models, section 2.1). Parameters that several layers share (ALBERT) count once.

    Returns:
        The number, None where neither file tells it.
    """
    from safetensors import SafetensorError, safe_open

    count = 0
    try:
        config = read_checkpoint_json(str(folder), folder / CONFIG)
        for file in sorted(folder.glob("model*.safetensors")):
            with safe_open(file, framework="numpy") as tensors:
                shapes = {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118
            count += sum(
                prod(shape)
                for name, shape in shapes.items()
                if not is_embedding(name, shape, config)
            )
    except (OSError, UserError, SafetensorError):
        return None
    return count or count_layer_parameters(config)


def is_embedding(name: str, shape: Sequence[int], config: dict[str, Any]) -> bool:
    """Says whether a tensor is looked up, or projects to the vocabulary."""
    return "embed" in name or (len(shape) > 0 and shape[0] == config.get("vocab_size"))


def count_layer_parameters(config: dict[str, Any]) -> int | None:
    """Counts the parameters of the layers that a model's config.json tells of, None where it does
    not.
    """
    width = config.get("hidden_size", config.get("dim"))
    layers = config.get("num_hidden_layers", config.get("n_layers"))
    inner = config.get("intermediate_size", config.get("hidden_dim"))
    if not (isinstance(width, int) and isinstance(layers, int) and isinstance(inner, int)):
        return None
    return 2 * width * layers * (2 * width + inner)


def load_fast_tokenizer(file: Path) -> Tokenizer | None:
    """Loads a tokenizer.json without transformers, None where it is missing or damaged."""
    from tokenizers import Tokenizer

    try:
        backend = Tokenizer.from_file(str(file))
    except Exception:  # tokenizers raises nothing narrower
        return None
    backend.no_padding()
    backend.no_truncation()
    return backend


class RequestText(NamedTuple):
    """What an instance asks.

    Attributes:
        context: a text that comes with the question; may be empty.
        question: the question; for masked language models with the mask.
        words: the words whose probabilities masked language models are asked for.
    """

    context: str
    question: str
    words: Sequence[str]


class ReadingMethod(NamedTuple):
    """How a model reads an instance.

    Attributes:
        joined: whether it reads context and question as one, and words at a mask in it.
        scoring: where it scores sentences, the name of the formula; the question is the sentence,
            the context what it is compared with or stands in.
    """

    joined: bool = False
    scoring: str = ""


def tokens_per_instance(
    backend: Tokenizer, texts: Sequence[RequestText], method: ReadingMethod
) -> float:
    """Returns the mean number of tokens of all inputs of an instance, special tokens included.

    Args:
        backend: the model's tokenizer.
        texts: what instances ask, at least one.
        method: how the model reads them.
    """

    def encode_text(text: str) -> list[int]:
        return backend.encode(text).ids

    if method.scoring:
        special = len(backend.encode(""))
        return fmean(count_sentence_tokens(encode_text, text, special, method) for text in texts)
    inputs: list[str | tuple[str, str]] = []
    for text in texts:
        if is_pair(text, method):
            inputs.append((text.question, text.context))
        else:
            inputs.append(f"{text.context} {text.question}".strip())
    lengths = [len(encoding) for encoding in backend.encode_batch(inputs)]
    if not method.joined:
        return fmean(lengths)
    counts = []
    for length, text in zip(lengths, texts, strict=True):
        spaced = [f" {word}" for word in text.words]
        words = [backend.encode(word, add_special_tokens=False).ids for word in spaced]
        counts.append(count_input_tokens(length, words))
    return fmean(counts)


def count_sentence_tokens(
    tokens: Callable[[str], Sequence[Hashable]],
    text: RequestText,
    special: int,
    method: ReadingMethod,
) -> int:
    """Counts the tokens of the inputs that score a sentence.

    Args:
        tokens: makes tokens of a text.
        text: the sentence, and what it is compared with or stands in.
        special: how many special tokens a text has.
        method: how the model reads it.
    """
    scoring = SCORINGS[method.scoring]
    pair = tokens(text.context.replace(BLANK, "")) if scoring.needs else ()
    return scoring.tokens_read(tokens(text.question), pair, special)


def count_input_tokens(length: int, words: Sequence[Sequence[int]]) -> int:
    """Counts the tokens of the inputs that score words at a mask.

    A word of n tokens has n inputs, in which n tokens stand in place of the mask; those that differ
    in nothing are one (as with the scoring `joint`; with others a few more may differ, see
    `candidate_tokens.masked_tokens`).

    Args:
        length: tokens of the text with one mask.
        words: the token ids of each word; none for a text that is asked as it is.
    """
    inputs = {(tuple(ids[:read]), len(ids)) for ids in words for read in range(len(ids))}
    return sum(length + size - 1 for _, size in inputs) or length


SPECIAL = 2
"""How many tokens BERT and its kin put around a text."""


def words_per_instance(texts: Sequence[RequestText], method: ReadingMethod) -> float:
    """Estimates `tokens_per_instance` without a tokenizer: each word and each mark counts as a
    token.

    BERT and its kin put two tokens around a text and three around a pair. Where no sentence is
    scored, each instance counts as one input.
    """
    if method.scoring:
        return fmean(count_sentence_tokens(with_ends, text, SPECIAL, method) for text in texts)
    words = [WORD_OR_MARK.findall(f"{text.context} {text.question}") for text in texts]
    special = [SPECIAL + is_pair(text, method) for text in texts]
    return fmean(map(len, words)) + fmean(special)


def with_ends(text: str) -> list[str]:
    """Returns the words and marks of a text, and empty ones that stand for the special tokens
    around it.
    """
    return ["", *WORD_OR_MARK.findall(text), ""]


def is_pair(text: RequestText, method: ReadingMethod) -> bool:
    """Says whether a model reads two texts."""
    return bool(text.context) and not method.joined
