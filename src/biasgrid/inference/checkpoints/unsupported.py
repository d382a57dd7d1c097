"""Finds files of a checkpoint that would change its numbers, but are not supported."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.inference.checkpoints.files import (
    CONFIG,
    TOKENIZER_CONFIG,
    matching,
    read_checkpoint_json,
)

CHECKPOINT = f"a folder with a checkpoint: {CONFIG}, weights and tokenizer"
ADAPTER_CONFIG = "adapter_config.json"
ADAPTERS = (
    ADAPTER_CONFIG,
    "adapter_model.*",
    "adapter.*.safetensors",
    "*_adapter.bin",
    "*_adapter.safetensors",
)
MERGED = (
    "a single model, merged with "
    "`PeftModel.from_pretrained(base, adapter).merge_and_unload().save_pretrained(folder)`, "
    "with the tokenizer beside it and without the files of the adapter"
)
OWN_GENERATE = "custom_generate/generate.py"
BY_VERSION = {CONFIG: "configuration_files", TOKENIZER_CONFIG: "fast_tokenizer_files"}
"""Keys that name other files for some versions of transformers."""
QUANTISED = ("quantization_config", "compression_config")
QUANTISED_FILES = ("quantize_config.json", "quant_config.json", "hf_quant_config.json")
OTHER_WEIGHTS = {
    ("tf_model*.h5", "flax_model*.msgpack"): (
        "of TensorFlow or Flax",
        (
            "safetensors: convert them with transformers 4, `AutoModel....from_pretrained(folder, "
            "from_tf=True)` or `from_flax=True`, and `save_pretrained`"
        ),
    ),
    ("*.gguf", "ggml*"): (
        "of llama.cpp",
        (
            "safetensors; or run llama.cpp's server, `llama-server -m FILE.gguf`, as `endpoint` "
            "(see docs/servers.md); or convert the file with "
            "`AutoModelForCausalLM.from_pretrained(folder, gguf_file=..., "
            "quantization_config=GgufConfig(dequantize=True))` and "
            "`save_pretrained` (see docs/checkpoints.md)"
        ),
    ),
    ("*.onnx", "openvino_model.*"): (
        "for another runtime",
        "the safetensors from which these files were made",
    ),
    ("consolidated*", "*.pth"): (
        "in the layout of their maker",
        "safetensors in the layout of transformers, which most models have on the hub",
    ),
    ("model.*.safetensors", "pytorch_model.*.bin"): (
        "only in a variant",
        (
            "`model.safetensors`: load the weights with `variant=...` and save "
            "them with `save_pretrained`"
        ),
    ),
}
"""Weights in unsupported formats by the patterns of their names: format, and what is expected."""
OTHER_TOKENIZERS = (
    "tokenizer.model",
    "tekken.json",
    "tiktoken.model",
    "*.tiktoken",
    "vocab.bpe",
    "*.spm",
)


class FolderProblem(NamedTuple):
    """A problem of a checkpoint's folder, and what is expected in its place; see `Fault`."""

    problem: str
    expected: str


def unsupported_files(
    name: str, names: Collection[str], folder: Path, *, allow_remote_code: bool
) -> Iterator[FolderProblem]:
    """Yields a problem for each unsupported file that would change a checkpoint's numbers.

    Args:
        name: the checkpoint's name, for messages.
        names: the names of its files, including files that are not fetched.
        folder: where its JSON files are.
        allow_remote_code: whether code that comes with it may be run.

    Raises:
        UserError: a file is not JSON.
    """
    adapters = matching(names, ADAPTERS)
    if adapters:
        base = read_checkpoint_json(name, folder / ADAPTER_CONFIG).get("base_model_name_or_path")
        of_base = f" of {base}" if isinstance(base, str) and base else ""
        files = ", ".join(adapters[:3])
        yield FolderProblem(f"contains an adapter{of_base} ({files}), which is not applied", MERGED)
    for file, key in BY_VERSION.items():
        by_version = read_checkpoint_json(name, folder / file).get(key)
        if by_version:
            yield FolderProblem(
                f"contains a {file} that names different files for some versions of transformers "
                f"({key}: {by_version})",
                f"one file for all versions: replace it by the newest one, and remove `{key}`",
            )
    if allow_remote_code and (OWN_GENERATE in names or (folder / OWN_GENERATE).exists()):
        expected = (
            "a checkpoint without such code, because its tokens would not be drawn as "
            "the config says"
        )
        yield FolderProblem(f"contains its own code for writing texts ({OWN_GENERATE})", expected)


def other_weights(names: Collection[str]) -> FolderProblem | None:
    """Returns the problem of weights in an unsupported format; None if there are none."""
    for patterns, (weights_format, expected) in OTHER_WEIGHTS.items():
        files = matching(names, patterns)
        if files:
            listed = ", ".join(files[:3])
            return FolderProblem(f"has weights {weights_format} only ({listed})", expected)
    return None


def missing_config(names: Collection[str]) -> FolderProblem:
    """Returns the problem of a checkpoint without config.json.

    Weights in an unsupported format come first: they are why the file is missing.
    """
    return other_weights(names) or FolderProblem(f"contains no {CONFIG}", CHECKPOINT)


def other_tokenizer(names: Collection[str]) -> FolderProblem | None:
    """Returns the problem of a tokenizer in an unsupported format; None if there is none."""
    files = matching(names, OTHER_TOKENIZERS)
    if not files:
        return None
    expected = (
        "a tokenizer.json: `AutoTokenizer.from_pretrained(folder).save_pretrained(folder)` "
        "writes it"
    )
    return FolderProblem(f"has its tokenizer only in {', '.join(files)}", expected)


def quantisation(name: str, names: Collection[str], folder: Path) -> FolderProblem | None:
    """Returns the problem of quantised weights; None if they are not quantised.

    Raises:
        UserError: its config.json is not JSON.
    """
    config = read_checkpoint_json(name, folder / CONFIG)
    sections = [config, *(part for part in config.values() if isinstance(part, dict))]
    settings: dict[str, Any] = {}
    for key in QUANTISED:
        for section in sections:
            # Of several sections with the key, the first one counts.
            if section.get(key):
                settings.setdefault(key, section[key])
    evidence = list(settings) or matching(names, QUANTISED_FILES)
    if not evidence:
        return None
    quantisation_config = next(iter(settings.values()), None)
    if isinstance(quantisation_config, dict):
        method = quantisation_config.get("quant_method", quantisation_config.get("format"))
        if method:
            evidence.append(str(method))
    return FolderProblem(
        f"contains weights that are quantised ({', '.join(evidence)})",
        "the original weights, which run in float32; or a server that loads the quantised "
        "weights: see `serve` in docs/servers.md",
    )
