"""What a causal language model reads: instances as prompts, in its chat template where it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from biasgrid.checkpoints.checkpoint import ModelError, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

OPENED, CLOSED = "<think>", "</think>"
"""What models that think put around their thoughts."""
Messages = list[dict[str, str]]


def texts_of(instances: pl.DataFrame) -> Iterator[tuple[str | None, str]]:
    """Yields what is asked of each instance: the system text, if any, and second text and text."""
    rows = instances.select(pl.col("system", "text_pair", "text").cast(pl.String)).iter_rows()
    return ((system, "\n".join(filter(None, texts))) for system, *texts in rows)


def as_text(system: str | None, text: str) -> str:
    """Writes what is asked as one text."""
    return f"{system}\n\n{text}" if system else text


def as_messages(system: str | None, text: str) -> Messages:
    """Writes what is asked as messages."""
    roles = [("system", system), ("user", text)] if system else [("user", text)]
    return [{"role": role, "content": content} for role, content in roles]


def said_of(whole: str, ended: bool, opened: bool = False) -> tuple[str, str]:
    """Takes what was thought out of a text.

    Args:
        whole: what was written.
        ended: whether it was the model that ended it.
        opened: whether the prompt ends where thoughts begin.

    Returns:
        The answer, and its status; a text that never came to an answer has none.
    """
    _thoughts, closed, said = whole.rpartition(CLOSED)
    if not closed and (opened or whole.lstrip().startswith(OPENED)):
        said = ""
    said = said.strip()
    return said, "length" if not ended else "ok" if said else "empty"


class Prompter:
    """Makes prompts and their tokens.

    Attributes:
        tokenizer: the model's tokenizer.
        thinking: whether a model that can think may.
        begin: the tokens before every prompt without a chat template, such as one for the beginning of a text.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, thinking: bool):
        """Looks at how the tokenizer begins a text; what it ends one with would end the prompt."""
        self.tokenizer = tokenizer
        self.thinking = thinking
        # A chat template writes such tokens itself.
        self.begin = [] if tokenizer.chat_template else special_beginning(tokenizer)

    def prompts(self, instances: pl.DataFrame) -> list[str]:
        """Returns what is read for each instance: system text, second text and text.

        Raises:
            ModelError: the chat template takes no system text.
        """
        return [self.prompt(system, text) for system, text in texts_of(instances)]

    def prompt(self, system: str | None, text: str) -> str:
        """Writes one prompt.

        Raises:
            ModelError: the chat template takes no system text.
        """
        if not self.tokenizer.chat_template:
            return as_text(system, text)
        prompt = self.rendered(as_messages(system, text), system)
        if prompt.rstrip().endswith(OPENED) and not self.thinking:
            prompt = f"{prompt.rstrip()}\n\n{CLOSED}\n\n"
        return prompt

    def rendered(self, messages: Sequence[dict[str, str]], system: str | None) -> str:
        """Puts messages into the chat template, up to where the model's answer begins."""
        from jinja2 import TemplateError

        try:
            prompt = str(
                self.tokenizer.apply_chat_template(
                    list(messages), tokenize=False, add_generation_prompt=True, enable_thinking=self.thinking
                )
            )
        except TemplateError as error:
            if system is None:
                raise ModelError(f"the chat template cannot be used ({first_line(error)})") from error
            raise refused(first_line(error)) from error
        if system is not None and system.strip() not in prompt:
            raise refused("it leaves it out")
        return prompt

    def tokens(self, prompts: Sequence[str]) -> list[list[int]]:
        """Tokenizes prompts, or prompts with something behind them."""
        encodings = self.tokenizer.backend_tokenizer.encode_batch(list(prompts), add_special_tokens=False)
        return [[*self.begin, *encoding.ids] for encoding in encodings]


def refused(reason: str) -> ModelError:
    """Returns the error of a chat template that takes no system text."""
    return ModelError(
        f"the model's chat template takes no system text ({reason}); expected one that does: put the system text "
        "into the text itself"
    )


def special_beginning(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Returns the special tokens that a tokenizer puts before a text."""
    encoding = tokenizer.backend_tokenizer.encode("one")
    mask = [*encoding.special_tokens_mask, 0]
    ids: list[int] = encoding.ids[: mask.index(0)]
    return ids
