"""The word at BLANK in a context, scored token by token as in StereoSet."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, NamedTuple

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.scorings import BLANK

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class BlankInput(NamedTuple):
    """An input that scores one token of a word.

    Attributes:
        text: the context with the earlier tokens of the word and a mask in place of BLANK; later
            tokens are left out.
        token: the token that is read at the mask; None for a word without tokens.
    """

    text: str
    token: int | None


def blank_inputs(
    tokenizer: PreTrainedTokenizerFast, context: str, sentence: str, lead: str, instance: int
) -> list[BlankInput]:
    """Returns the inputs that score the word of a sentence at the BLANK of its context.

    Args:
        tokenizer: the model's tokenizer.
        context: the sentence with BLANK in place of a word.
        sentence: the sentence.
        lead: the text before the word when it is tokenized: "" or a space.
        instance: the number of the instance, for messages.

    Returns:
        An input for each token of the word, at least one.

    Raises:
        ModelError: see `word_at_blank`; or the context has a mask already.
    """
    word, mask = word_at_blank(context, sentence, instance), str(tokenizer.mask_token)
    if mask in context:
        raise ModelError(
            f"instance {instance} has the mask token {mask} in its context; expected only {BLANK}"
        )
    ids: list[int] = tokenizer.backend_tokenizer.encode(
        f"{lead}{word}", add_special_tokens=False
    ).ids
    if not ids:
        return [BlankInput(context.replace(BLANK, mask), None)]
    inputs = []
    for place, token in enumerate(ids):
        beginning = tokenizer.decode(ids[:place])
        inputs.append(BlankInput(context.replace(BLANK, f"{beginning}{mask}"), token))
    return inputs


def word_at_blank(context: str, sentence: str, instance: int) -> str:
    """Returns the word of a sentence at the place of BLANK, without punctuation.

    Words are split at single spaces. If several words contain BLANK, the last one counts.

    Raises:
        ModelError: the context has no BLANK, or the sentence no word there.
    """
    places = [place for place, word in enumerate(context.split(" ")) if BLANK in word]
    if not places:
        raise ModelError(
            f"instance {instance} has the context {context!r} without {BLANK}; expected it "
            "in one word"
        )
    words = sentence.split(" ")
    if places[-1] >= len(words):
        raise ModelError(
            f"instance {instance} has the sentence {sentence!r} without a word at the place of "
            f"{BLANK} in {context!r}; expected a word in that place"
        )
    return words[places[-1]].translate(WITHOUT_PUNCTUATION)
