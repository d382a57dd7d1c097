"""Models and tokenizers that are loaded once for several shards of a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from biasgrid.inference.checkpoints.checkpoint import load_recorded_model, load_recorded_tokenizer
from biasgrid.inference.engine.hardware import choose_device
from biasgrid.inference.engine.settings import ModelSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Loaded = TypeVar("Loaded")


def load_once(record: Mapping[str, Any], settings: ModelSettings, loader: str) -> PreTrainedModel:
    """Returns the float32 model of a record, loaded or from `settings.loaded_parts`.

    Args:
        record: see `back_end.BackEnd.open`.
        settings: see there.
        loader: the name of the class of transformers that loads the model.

    Raises:
        ModelError: the device is missing, or the model cannot be loaded.
    """
    model: PreTrainedModel | None = settings.loaded_parts.get(loader)
    # A model in half precision has lost its float32 weights, which the audit needs.
    if model is None or model.dtype != torch.float32:
        device = choose_device(settings.device)
        model = load_recorded_model(record, settings.task, loader, device)
        settings.loaded_parts[loader] = model
    return model


def load_tokenizer_once(
    record: Mapping[str, Any], settings: ModelSettings
) -> PreTrainedTokenizerFast:
    """Returns the tokenizer of a record, loaded or from `settings.loaded_parts`."""
    return once(settings, "tokenizer", lambda: load_recorded_tokenizer(record))


def once(settings: ModelSettings, name: str, make: Callable[[], Loaded]) -> Loaded:
    """Returns a part of the model, which the first call adds to `settings.loaded_parts`.

    Args:
        settings: see `back_end.BackEnd.open`.
        name: the part's key in `loaded_parts`; each key has one type.
        make: makes the part.
    """
    if name not in settings.loaded_parts:
        settings.loaded_parts[name] = make()
    part: Loaded = settings.loaded_parts[name]
    return part
