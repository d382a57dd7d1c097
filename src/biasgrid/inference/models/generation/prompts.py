"""Writes instances as prompts of a causal language model, in its chat template if it has one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import escape

from biasgrid.inference.checkpoints.checkpoint import ModelError, first_line
from biasgrid.inference.models.generation.section import DATE, Generation
from biasgrid.inference.models.generation.thoughts import Thoughts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer

Messages = list[dict[str, str]]
Content = Callable[[str], Any]
CONTENTS: tuple[Content, ...] = (str, lambda text: [{"type": "text", "text": text}])
"""Forms of a message's content that chat templates expect: a text, or a list of parts."""
ESCAPES: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: str(escape(text)),
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
)
"""How a chat template may escape a text."""
TEMPLATE_PROBE = "Are 3 apples fewer than 41 pears"
TEXT_PART = "'type':'text'"
"""How a list of parts looks in a prompt if a template that expects a text writes it as it is."""
CLOCK = "strftime_now"
DIRECTIVES = [f"%{flag}{letter}" for flag in ("-", "") for letter in "dmyHIMSj"] + [
    f"%{letter}" for letter in "aAbBcDeFGhpTuUVwWxXY"
]
"""The directives in formats of dates."""
EXCERPT_LENGTH = 200
EXCERPT_CONTEXT = 60
"""Characters of a text in an error message, and of these before the place that matters."""


def request_texts(instances: pl.DataFrame) -> Iterator[tuple[str | None, str]]:
    """Yields the system text of each instance, None without one, and its joined other texts."""
    rows = instances.select(pl.col("system", "text_pair", "text").cast(pl.String)).iter_rows()
    return ((system, join_texts(*texts)) for system, *texts in rows)


def join_texts(second_text: str | None, text: str) -> str:
    """Returns the second text of an instance, None or "" without one, and its text behind it."""
    return "\n".join(filter(None, (second_text, text)))


def as_text(system: str | None, text: str) -> str:
    """Returns system text and text as one text."""
    return f"{system}\n\n{text}" if system else text


def as_messages(system: str | None, text: str) -> Messages:
    """Returns system text and text as chat messages."""
    roles = [("system", system), ("user", text)] if system else [("user", text)]
    return [{"role": role, "content": content} for role, content in roles]


class Prompter:
    """Writes prompts and tokenizes them.

    Attributes:
        tokenizer: the model's tokenizer.
        thinking: whether a model that can think may think.
        has_template: whether prompts are messages in the chat template; otherwise they are plain
            texts.
        day: the date that a chat template gets as today's.
        thoughts: finds the marks of thoughts.
        begin: the special tokens before every plain prompt, often the one for the beginning of a
            text; empty with a chat template, which writes them itself.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast | FastTokenizer,
        thinking: bool,
        chat_template: bool = True,
        day: str = DATE,
        thoughts: Thoughts | None = None,
    ):
        """Prepares a tokenizer.

        Args:
            tokenizer: the model's tokenizer.
            thinking: see the attributes.
            chat_template: whether to use the chat template, if there is one.
            day: the date in ISO 8601, such as `2024-07-26`.
            thoughts: see the attributes; None for known marks only.
        """
        self.tokenizer = tokenizer
        self.thinking = thinking
        self.has_template = chat_template and bool(tokenizer.chat_template)
        self.day = date.fromisoformat(day)
        self.thoughts = thoughts or Thoughts()
        # Tokens that the tokenizer puts behind a text are left out: they would end the prompt.
        self.begin = [] if self.has_template else special_beginning(tokenizer)

    def prompts(self, instances: pl.DataFrame) -> list[str]:
        """Returns the prompt of each instance.

        Raises:
            ModelError: see `prompt`.
        """
        return [self.prompt(system, text) for system, text in request_texts(instances)]

    def prompt(self, system: str | None, text: str) -> str:
        """Returns the prompt of a system text, None without one, and a text.

        Raises:
            ModelError: the chat template fails, or leaves out the system text or the text.
        """
        if not self.has_template:
            return as_text(system, text)
        prompt = self.rendered(as_messages(system, text), system)
        if system is not None and not holds(prompt, system):
            raise system_refusal("it leaves it out")
        if not holds(prompt, text):
            raise ModelError(
                f"the model's chat template leaves out the question: {excerpt(text)!r} is not in "
                f"the prompt {excerpt(prompt)!r}; expected a template that includes the content of "
                "messages, as text or as a list of parts: fix it, or set `chat_template: false` to "
                "do without it"
            )
        end = self.thoughts.end_for(prompt)
        return prompt if end is None or self.thinking else f"{prompt.rstrip()}\n\n{end}\n\n"

    def rendered(self, messages: Messages, system: str | None) -> str:
        """Returns messages in the chat template, up to the beginning of the model's answer.

        Args:
            messages: the messages, with texts as content.
            system: the system text among them, for the error; None without one.

        Raises:
            ModelError: the template fails.
        """
        try:
            formed = []
            for chat_message in messages:
                content = self.contents[chat_message["role"]](chat_message["content"])
                formed.append({**chat_message, "content": content})
            return self.render(formed)
        # Templates are programs, which fail in their own ways.
        except Exception as error:
            if system is None:
                raise ModelError(
                    f"the chat template cannot be used ({first_line(error)})"
                ) from error
            raise system_refusal(first_line(error)) from error

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """The form of content that the template expects, by role; see `CONTENTS`.

        It is the first form with which a sample text arrives in the prompt, or else a plain text.
        """
        user = system = CONTENTS[0]
        for form in CONTENTS:
            if self.arrives([message("user", form)]):
                user = form
                break
        question = message("user", user)
        for form in CONTENTS:
            if self.arrives([message("system", form), question]):
                system = form
                break
        return {"user": user, "system": system}

    def arrives(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether each message's sample text is in the prompt, and no list of parts as such.

        Args:
            messages: messages that contain `TEMPLATE_PROBE`, once each.
        """
        try:
            prompt = self.render(messages)
        # See `rendered`. The error is reported when a real text fails.
        except Exception:
            return False
        has_parts = TEXT_PART in without_space(prompt).replace('"', "'")
        return prompt.count(TEMPLATE_PROBE) >= len(messages) and not has_parts

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Returns messages in the template; their content must have the form that it expects."""
        prompt = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            chat_template=self.template,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=self.thinking,
            # The template of Llama 3.1 writes a date if it is given one.
            date_string=self.day.strftime("%d %b %Y"),
        )
        return str(prompt)

    @cached_property
    def template(self) -> str:
        """The chat template, with a clock that always shows the same day."""
        template = str(self.tokenizer.get_chat_template())
        return f"{clock_macro(self.day)}\n{template}" if CLOCK in template else template

    def tokens(self, prompts: Sequence[str]) -> list[list[int]]:
        """Returns the token ids of prompts, or of prompts with an option behind them."""
        encodings = self.tokenizer.backend_tokenizer.encode_batch(
            list(prompts), add_special_tokens=False
        )
        return [[*self.begin, *encoding.ids] for encoding in encodings]


@dataclass(frozen=True)
class GenerationChoices:
    """The settings that decide the answers.

    Attributes:
        generation: the keys of `generation.section.Generation`.
        chat_template: whether the chat template is used, if there is one.
        date: the date that it gets as today's, in ISO 8601.
    """

    generation: Mapping[str, Any] = field(default_factory=lambda: Generation().model_dump())
    chat_template: bool = True
    date: str = DATE

    def writes(self, answer: str) -> bool:
        """Whether texts are written for a kind of answers, which may be options found in them."""
        return answer == "text" or self.generation["options"] == "parsed"

    def prompter(self, tokenizer: PreTrainedTokenizerFast | FastTokenizer, answer: str) -> Prompter:
        """Returns what writes the prompts for a kind of answers."""
        # Options are scored before any thought.
        thinking = self.writes(answer) and bool(self.generation["thinking"])
        thoughts = Thoughts.from_setting(self.generation["thinking"])
        return Prompter(tokenizer, thinking, self.chat_template, self.date, thoughts)


def clock_macro(day: date) -> str:
    """Returns a Jinja macro that replaces the function with which chat templates ask for the date.

    A macro, because only plain values can be handed to a template. The line break after it is not
    written to the prompt.
    """
    filters = "".join(
        f"|replace({directive!r}, {day.strftime(directive)!r})" for directive in DIRECTIVES
    )
    return f"{{% macro {CLOCK}(format) %}}{{{{ format{filters} }}}}{{% endmacro %}}"


def message(role: str, content: Content) -> dict[str, Any]:
    """Returns a message with the sample text, in a form of content."""
    return {"role": role, "content": content(TEMPLATE_PROBE)}


def holds(prompt: str, text: str) -> bool:
    """Whether a prompt contains a text, in any of `ESCAPES` and with any white space."""
    if text.strip() in prompt:
        return True
    dense_prompt = without_space(prompt)
    return any(
        without_space(escape_text(text)).strip('"') in dense_prompt for escape_text in ESCAPES
    )


def without_space(text: str) -> str:
    """Returns a text without white space, also without line breaks as JSON writes them."""
    return "".join(text.replace("\\n", " ").split())


def excerpt(text: str, place: int = 0) -> str:
    """Returns an excerpt of a text that contains a place, with dots where it is cut."""
    begin = max(place - EXCERPT_CONTEXT, 0) if len(text) > EXCERPT_LENGTH else 0
    end = begin + EXCERPT_LENGTH
    return f"{'...' * (begin > 0)}{text[begin:end]}{'...' * (end < len(text))}"


def system_refusal(reason: str) -> ModelError:
    """Returns the error of a chat template that takes no system text."""
    return ModelError(
        f"the model's chat template takes no system text ({reason}); expected a template that "
        "does, or the system text within the text itself"
    )


def special_beginning(tokenizer: PreTrainedTokenizerFast | FastTokenizer) -> list[int]:
    """Returns the special tokens that a tokenizer puts before a text."""
    encoding = tokenizer.backend_tokenizer.encode("one")
    mask = [*encoding.special_tokens_mask, 0]
    ids: list[int] = encoding.ids[: mask.index(0)]
    return ids
