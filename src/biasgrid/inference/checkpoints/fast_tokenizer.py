"""A checkpoint's tokenizer without transformers, which takes long to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.files import (
    CHAT_TEMPLATE,
    SPECIAL_TOKENS_MAP,
    TOKENIZER_CONFIG,
    read_chat_template,
    read_checkpoint_json,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = "tokenizer.json"
DECIDING_FILES = (TOKENIZER, TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP, CHAT_TEMPLATE)
"""The files that decide tokens and chat template of nearly all checkpoints."""


def load_fast_tokenizer(file: Path) -> Tokenizer | None:
    """Loads a tokenizer.json without transformers; None if it is missing or damaged."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    # The library raises no narrower class.
    except Exception:
        return None
    # As in `read_tokenizer`.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@dataclass(frozen=True)
class FastTokenizer:
    """The part of a tokenizer that prompts are written with, under the names of transformers.

    Attributes:
        backend_tokenizer: the tokenizer.
        chat_template: its chat template; a mapping or a list of templates by name if there are
            several, None if there is none.
        special_tokens: the texts of special tokens, by names such as `unk_token`.
    """

    backend_tokenizer: Tokenizer
    chat_template: Any
    special_tokens: Mapping[str, str]

    @classmethod
    def from_folder(cls, folder: Path) -> Self | None:
        """Loads the tokenizer of a checkpoint; None if one of its files is missing or damaged."""
        backend = load_fast_tokenizer(folder / TOKENIZER)
        if backend is None:
            return None
        try:
            template = read_chat_template(folder.name, folder)
            return cls(backend, template, read_special_tokens(folder))
        except UserError:
            return None

    @property
    def unk_token_id(self) -> int | None:
        """The id of the token for unknown text; None without one."""
        token = self.special_tokens.get("unk_token")
        return None if token is None else self.backend_tokenizer.token_to_id(token)

    def get_chat_template(self) -> str:
        """Returns the chat template; of several the one that is called `default`."""
        template = self.chat_template
        if isinstance(template, list):
            template = {entry["name"]: entry["template"] for entry in template}
        return str(template["default"] if isinstance(template, dict) else template)

    def apply_chat_template(
        self,
        conversation: Sequence[Mapping[str, Any]],
        *,
        chat_template: str,
        tokenize: bool,
        **variables: Any,
    ) -> str:
        """Returns messages in a template.

        Args:
            conversation: the messages.
            chat_template: the template.
            tokenize: False; tokens are not returned.
            variables: what the template may read.
        """
        # A small part of transformers, which imports no torch.
        from transformers.utils.chat_template_utils import render_jinja_template

        if tokenize:
            raise NotImplementedError("expected `tokenize=False`")
        rendered, _ = render_jinja_template(
            conversations=[conversation],
            chat_template=chat_template,
            **{**self.special_tokens, **variables},
        )
        return str(rendered[0])

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of tokens, special ones included."""
        return str(self.backend_tokenizer.decode(list(ids), skip_special_tokens=False))


def read_special_tokens(folder: Path) -> dict[str, str]:
    """Returns the texts of a checkpoint's special tokens, by names such as `unk_token`.

    Raises:
        UserError: a file is not JSON.
    """
    tokens = {}
    for file in (SPECIAL_TOKENS_MAP, TOKENIZER_CONFIG):
        for name, value in read_checkpoint_json(folder.name, folder / file).items():
            # A token is its text, or an object that also has its properties.
            text = value.get("content") if isinstance(value, dict) else value
            if name.endswith("_token") and isinstance(text, str):
                tokens[name] = text
    return tokens
