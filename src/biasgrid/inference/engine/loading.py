"""Models and tokenizers that are loaded once for several shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from biasgrid.inference.checkpoints.checkpoint import load_recorded_model, load_recorded_tokenizer
from biasgrid.inference.engine.hardware import choose_device
from biasgrid.inference.engine.settings import InferenceSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Loaded = TypeVar("Loaded")


def load_once(
    record: Mapping[str, Any], settings: InferenceSettings, loader: str
) -> PreTrainedModel:
    """Loads the model of a record in float32, or takes it from `settings.loaded`.

    Args:
        record: see `back_end.BackEnd.open`.
        settings: see there.
        loader: the class of transformers that loads the model.
    """
    model: PreTrainedModel | None = settings.loaded.get(loader)
    # A model in half precision has lost the weights of float32, which the audit needs.
    if model is None or model.dtype != torch.float32:
        device = choose_device(settings.device)
        model = load_recorded_model(record, settings.task, loader, device)
        settings.loaded[loader] = model
    return model


def load_tokenizer_once(
    record: Mapping[str, Any], settings: InferenceSettings
) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a record, or takes it from `settings.loaded`."""
    return once(settings, "tokenizer", lambda: load_recorded_tokenizer(record))


def once(settings: InferenceSettings, name: str, make: Callable[[], Loaded]) -> Loaded:
    """Returns a part of the model that is made at the first call and kept in `settings.loaded`.

    Args:
        settings: see `back_end.BackEnd.open`.
        name: its key there.
        make: makes it.
    """
    if name not in settings.loaded:
        settings.loaded[name] = make()
    made: Loaded = settings.loaded[name]
    return made
