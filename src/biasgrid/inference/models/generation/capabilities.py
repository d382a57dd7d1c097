"""Finds out the capabilities of a causal language model on this machine, once for a model.

They are kept beside the model's record, and in the user's cache, so that neither the jobs of a grid
nor later questions try them again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from biasgrid.base.files import digest_file
from biasgrid.base.version import package_version
from biasgrid.inference.checkpoints.checkpoint import local_folder
from biasgrid.inference.checkpoints.files import is_published_in_16_bits
from biasgrid.inference.engine.processor_findings import find_once
from biasgrid.inference.engine.settings import InferenceSettings, ModelSettings
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.prerequisites import CapabilityProbe
from biasgrid.tables.provenance import digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from biasgrid.inference.models.generation.texts import MeasuredPadding

logger = logging.getLogger(__name__)

CACHE = "BIASGRID_CACHE"
"""The environment variable that names the folder of the user's cache."""
DECIDING_LIBRARIES = ("tokenizers", "torch", "transformers")
"""Libraries of which another version may take other shortcuts."""


@dataclass(frozen=True)
class GenerationCapabilities:
    """The capabilities of a causal language model.

    Attributes:
        precision: the precision of its answers, see `choose_precision`.
        reuses_keys: see `shortcuts.Shortcuts`.
        reads_trees: see there.
        padding: the fields of `texts.MeasuredPadding`; None if no texts are written.
    """

    precision: str
    reuses_keys: bool
    reads_trees: bool
    padding: Mapping[str, Any] | None

    @classmethod
    def from_settings(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Returns the capabilities in settings; they are found out if the settings have none.

        Args:
            record: the model's record.
            settings: how to answer.

        Raises:
            ModelError: see `find_generation_capabilities`.
        """
        if settings.capabilities:
            return cls(**settings.capabilities)
        return cls(**find_generation_capabilities(record, settings, [settings.answer]))


def choose_precision(record: Mapping[str, Any], settings: ModelSettings) -> str:
    """Returns the precision of a model's answers.

    `auto` is bfloat16 if the checkpoint is published in 16 bits and the device multiplies bfloat16,
    else float32. It was decided with the model's capabilities, if there are any, perhaps on another
    machine.

    Args:
        record: the model's record.
        settings: settings with which the model is opened.
    """
    from biasgrid.inference.engine.hardware import choose_device, multiplies_bfloat16

    if settings.precision != "auto":
        return settings.precision
    if settings.capabilities:
        return str(settings.capabilities["precision"])
    is_half = is_published_in_16_bits(local_folder(record))
    is_native = multiplies_bfloat16(choose_device(settings.device))
    return "bfloat16" if is_half and is_native else "float32"


def probed_subject(
    record: Mapping[str, Any], settings: ModelSettings, answers: Collection[str]
) -> str:
    """Digests what decides the capabilities of a model, besides the processor.

    The arguments are those of `find_generation_capabilities`.
    """
    folder = Path(__file__).parent
    return digest(
        {
            "files": record["files"],
            "other_files": record.get("other_files"),
            "precision": settings.precision,
            "writes": writes_texts(settings, answers),
            "device": settings.device,
            "libraries": [version(name) for name in DECIDING_LIBRARIES],
            "biasgrid": package_version(),
            "code": digest_file(*sorted(folder.glob("*.py"))),
        }
    )


def writes_texts(settings: ModelSettings, answers: Collection[str]) -> bool:
    """Whether a model writes texts, as answers or to have options read in them."""
    generation = Generation.model_validate(settings.section.get("generation", {}))
    return "text" in answers or generation.options == "parsed"


def find_generation_capabilities(
    record: Mapping[str, Any], settings: ModelSettings, answers: Collection[str]
) -> dict[str, Any]:
    """Returns the fields of `GenerationCapabilities`, from the user's cache if they are there.

    Args:
        record: the model's record.
        settings: settings with which the model is opened.
        answers: the kinds of answers that it may be asked for, modules of `tables.answers`.

    Raises:
        ModelError: the model cannot be loaded, or is an encoder.
    """
    from biasgrid.inference.engine.autotune import processor_name
    from biasgrid.inference.engine.hardware import choose_device

    device = choose_device(settings.device)
    name = digest([probed_subject(record, settings, answers), processor_name(device)])
    file = cache_folder() / "capabilities" / f"{name}.json"
    names = [field.name for field in fields(GenerationCapabilities)]
    capabilities: dict[str, Any] = {}
    try:
        capabilities = find_once(file, lambda: try_out(record, settings, answers), names)
    # The folder of the cache need not be one that can be written to.
    except OSError as error:
        logger.info("what the model can do is not kept: %s", error)
    return capabilities or try_out(record, settings, answers)


def cache_folder() -> Path:
    """Returns the folder of the user's cache, which may be missing."""
    own_folder = os.environ.get(CACHE)
    if own_folder:
        return Path(own_folder)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "biasgrid"


def try_out(
    record: Mapping[str, Any], settings: ModelSettings, answers: Collection[str]
) -> dict[str, Any]:
    """Tries out a model; arguments and errors are those of `find_generation_capabilities`."""
    # Imported here: they import torch and transformers, which a cached answer does not need.
    import torch

    from biasgrid.inference.engine.hardware import set_precision
    from biasgrid.inference.engine.loading import load_once, load_tokenizer_once, once
    from biasgrid.inference.models.generation.checks import causal_loader, check_causal
    from biasgrid.inference.models.generation.shortcuts import find_shortcuts

    torch.set_num_threads(settings.threads)
    loader = once(settings, "loader", lambda: causal_loader(record))
    model = load_once(record, settings, loader)
    set_precision(model, "float32")
    check_causal(model, settings.model)
    shortcuts = find_shortcuts(model, settings.model)
    padding = None
    if writes_texts(settings, answers):
        tokenizer = load_tokenizer_once(record, settings)
        padding = find_padding(model, tokenizer, reuses_keys=shortcuts.reuses_keys)._asdict()
    precision = choose_precision(record, settings)
    return asdict(GenerationCapabilities(precision, **shortcuts._asdict(), padding=padding))


def find_padding(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, *, reuses_keys: bool
) -> MeasuredPadding:
    """Finds the padding with which a model writes texts of several lengths.

    Args:
        model: the model, in float32.
        tokenizer: its tokenizer.
        reuses_keys: see `shortcuts.Shortcuts`.
    """
    from biasgrid.inference.models.generation.prefix import Prefix
    from biasgrid.inference.models.generation.shortcuts import sample_prompts
    from biasgrid.inference.models.generation.texts import Writer

    def read_prefix(prompts: Sequence[list[int]]) -> Prefix:
        return Prefix.from_prompts(model, prompts) if reuses_keys else Prefix()

    writer = Writer.from_checkpoint(model, tokenizer, Generation().model_dump())
    return writer.measure_padding(sample_prompts(model), read_prefix)


PROBE = CapabilityProbe(subject=probed_subject, find=find_generation_capabilities)
