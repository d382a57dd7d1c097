"""What a causal language model reads: instances as prompts, in its chat template where it has
one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import escape

from biasgrid.inference.checkpoints.checkpoint import ModelError, first_line
from biasgrid.inference.models.generation.section import DATE
from biasgrid.inference.models.generation.thoughts import Thoughts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Messages = list[dict[str, str]]
Content = Callable[[str], Any]
CONTENTS: tuple[Content, ...] = (str, lambda text: [{"type": "text", "text": text}])
"""How chat templates want the content of a message: as a text, or as a list of parts."""
ESCAPES: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: str(escape(text)),
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
)
"""How a chat template may write a text."""
TEMPLATE_PROBE = "Are 3 apples fewer than 41 pears"
TEXT_PART = "'type':'text'"
"""How a list of parts looks that is written into a prompt as it is."""
CLOCK = "strftime_now"
DIRECTIVES = [f"%{flag}{letter}" for flag in ("-", "") for letter in "dmyHIMSj"] + [
    f"%{one}" for one in "aAbBcDeFGhpTuUVwWxXY"
]
"""What stands for parts of a date in its format."""
EXCERPT_LENGTH = 200
EXCERPT_CONTEXT = 60
"""Characters of a text in a message, and before what matters."""


def request_texts(instances: pl.DataFrame) -> Iterator[tuple[str | None, str]]:
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


class Prompter:
    """Makes prompts and their tokens.

    Attributes:
        tokenizer: the model's tokenizer.
        thinking: whether a model that can think may.
        has_template: whether prompts are messages in the model's chat template, or plain texts.
        day: the day that a chat template writes down as today.
        thoughts: what is put around thoughts.
        begin: the tokens before every plain prompt, such as one for the beginning of a text.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        thinking: bool,
        chat_template: bool = True,
        day: str = DATE,
        thoughts: Thoughts | None = None,
    ):
        """Looks at how the tokenizer begins a text; what it ends one with would end the prompt.

        Args:
            tokenizer: the model's tokenizer.
            thinking: see the attributes.
            chat_template: whether to use a chat template where there is one.
            day: the day, such as `2024-07-26`.
            thoughts: see the attributes; those that are known where it is None.
        """
        self.tokenizer = tokenizer
        self.thinking = thinking
        self.has_template = chat_template and bool(tokenizer.chat_template)
        self.day = date.fromisoformat(day)
        self.thoughts = thoughts or Thoughts()
        # A chat template writes such tokens itself.
        self.begin = [] if self.has_template else special_beginning(tokenizer)

    def prompts(self, instances: pl.DataFrame) -> list[str]:
        """Returns what is read for each instance: system text, second text and text.

        Raises:
            ModelError: the chat template takes no system text, or leaves out what is asked.
        """
        return [self.prompt(system, text) for system, text in request_texts(instances)]

    def prompt(self, system: str | None, text: str) -> str:
        """Writes one prompt.

        Raises:
            ModelError: the chat template takes no system text, or leaves out what is asked.
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
        """Puts messages into the chat template, in the form that it takes, up to where the model's
        answer begins.

        Raises:
            ModelError: the template fails.
        """
        try:
            return self.render(
                [
                    {**each, "content": self.contents[each["role"]](each["content"])}
                    for each in messages
                ]
            )
        except Exception as error:  # templates are programs, which fail in their own ways
            if system is None:
                raise ModelError(
                    f"the chat template cannot be used ({first_line(error)})"
                ) from error
            raise system_refusal(first_line(error)) from error

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """How the template wants the content of each role's messages, as it shows on a text that it
        must not drop.
        """
        user = next(
            (form for form in CONTENTS if self.arrives([message("user", form)])), CONTENTS[0]
        )
        asked = message("user", user)
        system = next(
            (form for form in CONTENTS if self.arrives([message("system", form), asked])),
            CONTENTS[0],
        )
        return {"user": user, "system": system}

    def arrives(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Says whether as many probes stand in the prompt as there are messages with one, and no
        list of parts.
        """
        try:
            prompt = self.render(messages)
        except Exception:  # see `rendered`; what it says is told where a real text fails
            return False
        return prompt.count(TEMPLATE_PROBE) >= len(messages) and TEXT_PART not in without_space(
            prompt
        ).replace('"', "'")

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Puts messages into the chat template."""
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
        """The chat template, to which it is always the same day."""
        template = str(self.tokenizer.get_chat_template())
        return f"{clock_macro(self.day)}\n{template}" if CLOCK in template else template

    def tokens(self, prompts: Sequence[str]) -> list[list[int]]:
        """Tokenizes prompts, or prompts with something behind them."""
        encodings = self.tokenizer.backend_tokenizer.encode_batch(
            list(prompts), add_special_tokens=False
        )
        return [[*self.begin, *encoding.ids] for encoding in encodings]


def clock_macro(day: date) -> str:
    """Returns the macro that stands in place of the function that gives chat templates the date.

    Nothing but plain values may be handed to a template. Behind the macro the line ends without
    being written.
    """
    filters = "".join(f"|replace({each!r}, {day.strftime(each)!r})" for each in DIRECTIVES)
    return f"{{% macro {CLOCK}(format) %}}{{{{ format{filters} }}}}{{% endmacro %}}"


def message(role: str, content: Content) -> dict[str, Any]:
    """Returns a message that holds the probe."""
    return {"role": role, "content": content(TEMPLATE_PROBE)}


def holds(prompt: str, text: str) -> bool:
    """Says whether a prompt holds a text, however a template treats white space and marks of other
    languages.
    """
    if text.strip() in prompt:
        return True
    within = without_space(prompt)
    return any(without_space(written(text)).strip('"') in within for written in ESCAPES)


def without_space(text: str) -> str:
    """Leaves out white space, written as such or as in JSON."""
    return "".join(text.replace("\\n", " ").split())


def excerpt(text: str, place: int = 0) -> str:
    """Returns some of a text, with what stands at a place."""
    begin = max(place - EXCERPT_CONTEXT, 0) if len(text) > EXCERPT_LENGTH else 0
    end = begin + EXCERPT_LENGTH
    return f"{'...' * (begin > 0)}{text[begin:end]}{'...' * (end < len(text))}"


def system_refusal(reason: str) -> ModelError:
    """Returns the error of a chat template that takes no system text."""
    return ModelError(
        f"the model's chat template takes no system text ({reason}); expected a template that "
        "does, or the system text within the text itself"
    )


def special_beginning(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Returns the special tokens that a tokenizer puts before a text."""
    encoding = tokenizer.backend_tokenizer.encode("one")
    mask = [*encoding.special_tokens_mask, 0]
    ids: list[int] = encoding.ids[: mask.index(0)]
    return ids
