"""The cost of running a model, estimated from a checkpoint's files without loading it."""

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

    Embeddings are only looked up, and the projection to the vocabulary is computed at the mask
    alone: neither counts, see `is_embedding`. Sizes are read from the headers of safetensors files.
    For pickled weights the number is estimated from config.json: 2 d L (2 d + f) for L layers of
    width d and inner width f (Kaplan et al. 2020, Scaling Laws for Neural Language Models, section
    2.1). Parameters that several layers share (ALBERT) count once.

    Returns:
        The number; None if neither file has the sizes.
    """
    from safetensors import SafetensorError, safe_open

    total = 0
    try:
        config = read_checkpoint_json(str(folder), folder / CONFIG)
        for file in sorted(folder.glob("model*.safetensors")):
            with safe_open(file, framework="numpy") as tensors:
                shapes = {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118
            for name, shape in shapes.items():
                if not is_embedding(name, shape, config):
                    total += prod(shape)
    except (OSError, UserError, SafetensorError):
        return None
    return total or count_layer_parameters(config)


def is_embedding(name: str, shape: Sequence[int], config: dict[str, Any]) -> bool:
    """Whether a tensor is an embedding, or has a row for each entry of the vocabulary."""
    return "embed" in name or (len(shape) > 0 and shape[0] == config.get("vocab_size"))


def count_layer_parameters(config: dict[str, Any]) -> int | None:
    """Estimates the parameters of all layers by config.json; None if it lacks their sizes."""
    width = config.get("hidden_size", config.get("dim"))
    layers = config.get("num_hidden_layers", config.get("n_layers"))
    inner = config.get("intermediate_size", config.get("hidden_dim"))
    if not (isinstance(width, int) and isinstance(layers, int) and isinstance(inner, int)):
        return None
    return 2 * width * layers * (2 * width + inner)


class RequestText(NamedTuple):
    """The texts of an instance.

    Attributes:
        context: a text that comes with the question; may be empty.
        question: the question; for masked language models with the mask.
        words: the candidates that a masked language model scores at the mask.
    """

    context: str
    question: str
    words: Sequence[str]


class ReadingMethod(NamedTuple):
    """How a model reads an instance.

    Attributes:
        is_joined: whether context and question are one text, with words at a mask in it.
        scoring: the name of a formula that scores sentences; "" if none are scored. The question is
            then the sentence, and the context its partner or the sentence with BLANK.
    """

    is_joined: bool = False
    scoring: str = ""


def tokens_per_instance(
    tokenizer: Tokenizer, texts: Sequence[RequestText], method: ReadingMethod
) -> float:
    """Returns the mean number of tokens of all inputs of an instance, special tokens included.

    Args:
        tokenizer: the model's tokenizer.
        texts: the texts of instances, at least one.
        method: how the model reads them.
    """

    def encode_text(text: str) -> list[int]:
        return tokenizer.encode(text).ids

    if method.scoring:
        special = len(tokenizer.encode(""))
        return fmean(count_sentence_tokens(encode_text, text, special, method) for text in texts)
    inputs: list[str | tuple[str, str]] = []
    for text in texts:
        if is_pair(text, method):
            inputs.append((text.question, text.context))
        else:
            inputs.append(f"{text.context} {text.question}".strip())
    lengths = [len(encoding) for encoding in tokenizer.encode_batch(inputs)]
    if not method.is_joined:
        return fmean(lengths)
    counts = []
    for length, text in zip(lengths, texts, strict=True):
        words = []
        for word in text.words:
            encoding = tokenizer.encode(f" {word}", add_special_tokens=False)
            words.append(encoding.ids)
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
        tokens: tokenizes a text.
        text: the sentence and its context, see `ReadingMethod`.
        special: the number of special tokens of a text.
        method: how the model reads it.
    """
    scoring = SCORINGS[method.scoring]
    pair = tokens(text.context.replace(BLANK, "")) if scoring.needs else ()
    return scoring.tokens_read(tokens(text.question), pair, special)


def count_input_tokens(length: int, words: Sequence[Sequence[int]]) -> int:
    """Counts the tokens of the inputs that score words at a mask.

    A word of n tokens has n inputs, with n tokens in place of the mask. Equal inputs of several
    words count once, as with the scoring `joint`; with others a few more inputs may differ, see
    `candidate_tokens.masked_tokens`.

    Args:
        length: the number of tokens of the text with one mask.
        words: the token ids of each word; without words the text itself is the only input.
    """
    inputs = {(tuple(ids[:read]), len(ids)) for ids in words for read in range(len(ids))}
    return sum(length + size - 1 for _, size in inputs) or length


SPECIAL = 2
"""Special tokens of BERT and similar models around a text."""


def words_per_instance(texts: Sequence[RequestText], method: ReadingMethod) -> float:
    """Estimates `tokens_per_instance` without a tokenizer: each word and mark counts as a token.

    Special tokens are counted as in BERT: two around a text, three around a pair. If no sentence is
    scored, each instance counts as one input.
    """
    if method.scoring:
        return fmean(count_sentence_tokens(with_ends, text, SPECIAL, method) for text in texts)
    words = [WORD_OR_MARK.findall(f"{text.context} {text.question}") for text in texts]
    special = [SPECIAL + is_pair(text, method) for text in texts]
    return fmean(map(len, words)) + fmean(special)


def with_ends(text: str) -> list[str]:
    """Returns the words and marks of a text, between empty strings for the special tokens."""
    return ["", *WORD_OR_MARK.findall(text), ""]


def is_pair(text: RequestText, method: ReadingMethod) -> bool:
    """Whether a model reads an instance as a pair of texts."""
    return bool(text.context) and not method.is_joined
