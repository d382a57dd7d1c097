"""How well the engine feeds a GPU: masked models of bert-base's and bert-large's size on the gender
dataset.

    python benchmarks/gpu.py [--rows 400000] [--minutes 9] [--device cuda]

Each line is a process, or two that share the GPU, with random weights; a job of the grid answers
the same rows in the same way. The peak is that of a product of two large square matrices in the
same precision on the same GPU. Lines are told as they come, and none begins later than `--minutes`
say; those of compiled models, which take longest to begin, come last. On a CPU (`--device cpu
--rows 64`) a tiny model shows whether the script works.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from host import FULL, PART_ROWS, instances_files
from stopwatch import print_table

SIZES: dict[str, dict[str, int]] = {
    "bert-base": {},
    "bert-large": {
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
}
TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
PRECISIONS = ("bfloat16", "float16", "tf32", "float32")
SIDE, PRODUCTS = 8192, 20
KERNELS = {
    "products": ("gemm", "cutlass", "matmul", "addmm"),
    "attention": ("attention", "flash", "fmha"),
    "copies": ("memcpy", "memset", "copy_"),
}
"""Parts of the names of kernels, by what they are; all else is element by element."""


def peak_of(device: str, precision: str) -> float:
    """Returns the TFLOPS of a product of two square matrices."""
    import torch

    from biasgrid.inference.engine.hardware import set_precision

    set_precision(torch.nn.Linear(1, 1), precision)
    kind = getattr(torch, precision, torch.float32)
    side = SIDE if device == "cuda" else 512
    one, other = (torch.randn(side, side, device=device, dtype=kind) for _ in range(2))
    for count in (3, PRODUCTS):
        wait(device)
        start = time.perf_counter()
        for _ in range(count):
            one @ other
        wait(device)
    return 2 * side**3 * PRODUCTS / (time.perf_counter() - start) / 1e12


def wait(device: str) -> None:
    """Waits until a GPU has done all that it was given."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def model_of(size: str, vocabulary: int, device: str) -> Any:
    """Returns a masked language model with random weights."""
    from transformers import BertConfig, BertForMaskedLM

    return (
        BertForMaskedLM(BertConfig(vocab_size=vocabulary, **SIZES.get(size, TINY)))
        .eval()
        .to(device)
    )


def once(
    size: str, precision: str, compiled: bool, folder: str, file: str, rows: int, device: str
) -> dict[str, Any]:
    """Answers rows in this process; returns rows, tokens, seconds, operations and where a part's
    time goes.
    """
    import torch
    from transformers import BertTokenizerFast

    from biasgrid.inference.engine import loading
    from biasgrid.inference.engine.back_end import PromptPart
    from biasgrid.inference.engine.settings import InferenceSettings
    from biasgrid.inference.models.masked.back_end import FillMask
    from biasgrid.tables.instances import read_requests

    tokenizer = BertTokenizerFast.from_pretrained(folder + "/tokenizer")
    model = model_of(size, len(tokenizer), device)
    if compiled:
        model.bert = torch.compile(model.bert, dynamic=True)
    patched: Any = loading
    patched.load_recorded_model = lambda *_: model
    patched.load_recorded_tokenizer = lambda _: tokenizer
    asked = read_requests(Path(file)).head(rows)
    settings = InferenceSettings(
        model="random",
        task="fill-mask",
        precision=precision,
        token_budget="auto",
        device=device,
        seconds_without_progress=3600,
        answer="choice",
        threads=1,
        choices={},
    )
    back_end = FillMask.open({}, settings, asked)
    starts = range(0, len(asked), PART_ROWS)
    parts = [PromptPart.without_answers(asked.slice(start, PART_ROWS)) for start in starts]
    list(back_end.answer(parts[:1]))
    wait(device)
    start = time.perf_counter()
    said = sum(len(table) for table in back_end.answer(parts))
    seconds = time.perf_counter() - start
    shares = kernel_shares(lambda: list(back_end.answer(parts[:2])), device)
    ready = [piece.encoding() for piece in back_end.chunks.items]
    tokens = sum(int(each.encoding.rows.lengths.sum()) for each in ready if each)
    weights = sum(tensor.numel() for name, tensor in model.named_parameters() if "encoder" in name)
    return {
        "rows": said,
        "tokens": tokens,
        "seconds": seconds,
        "flop": 2 * weights * tokens,
        "shares": shares,
    }


def kernel_shares(work: Any, device: str) -> dict[str, float]:
    """Returns the share of a GPU's time by sort of kernel, and how much of the whole time it had
    nothing to do.
    """
    import torch

    if device != "cuda":
        work()
        return {}
    activities = [torch.profiler.ProfilerActivity.CUDA]
    start = time.perf_counter()
    with torch.profiler.profile(activities=activities) as profile:
        work()
        wait(device)
    whole = 1e6 * (time.perf_counter() - start)
    found = dict.fromkeys([*KERNELS, "element by element"], 0.0)
    for event in profile.key_averages():
        name = event.key.lower()
        sort = next(
            (each for each, parts in KERNELS.items() if any(part in name for part in parts)), None
        )
        found[sort or "element by element"] += event.self_device_time_total
    return {
        **{sort: spent / whole for sort, spent in found.items()},
        "idle": 1 - sum(found.values()) / whole,
    }


def together(jobs: int, *arguments: Any) -> list[dict[str, Any]]:
    """Runs `once` in some processes at a time; returns nothing where one has failed."""
    command = [sys.executable, __file__, "--once", json.dumps(arguments)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(jobs)]
    outputs = [process.communicate()[0] for process in running]
    return (
        [json.loads(output.splitlines()[-1]) for output in outputs]
        if not any(p.returncode for p in running)
        else []
    )


class Line(NamedTuple):
    """What a line of the table is about."""

    size: str
    precision: str
    jobs: int
    compiled: bool

    def rows(self, most: int) -> int:
        """Returns how many rows are answered: fewer by larger models and wider numbers, which take
        longer.
        """
        return (
            most
            // (4 if self.size == "bert-large" else 1)
            // (4 if self.precision == "float32" else 1)
        )

    def told(self, runs: list[dict[str, Any]], peak: float) -> list[str]:
        """Words what processes that ran side by side did together."""
        name = [self.size, self.precision, str(self.jobs), "yes" if self.compiled else "no"]
        if not runs:
            return [*name, "failed", *[""] * 4]
        rates = {
            key: sum(run[key] / run["seconds"] for run in runs)
            for key in ("rows", "tokens", "flop")
        }
        reached, shares = rates["flop"] / 1e12, runs[0]["shares"]
        spent = ", ".join(f"{sort} {share:.0%}" for sort, share in shares.items()) or "-"
        return [
            *name,
            f"{rates['rows']:,.0f}",
            f"{rates['tokens']:,.0f}",
            f"{reached:.1f}",
            f"{reached / peak:.0%}",
            spent,
        ]


def lines_on(device: str) -> list[Line]:
    """Returns the lines of the table, in the order in which they are measured."""
    sizes, precisions = ([*SIZES], PRECISIONS) if device == "cuda" else (["tiny"], ("float32",))
    plain = [
        Line(size, precision, jobs, False)
        for precision in precisions
        for size in sizes
        for jobs in (1, 2)
    ]
    return [*plain, *(Line(size, precisions[0], 1, True) for size in sizes)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--once", type=json.loads)
    chosen = parser.parse_args()
    if chosen.once:
        print(json.dumps(once(*chosen.once)))
        return
    table, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        file = str(instances_files(Path(temporary), [FULL])[FULL])
        lines = lines_on(chosen.device)
        peaks = {
            precision: peak_of(chosen.device, precision)
            for precision in {line.precision for line in lines}
        }
        for line in lines:
            if time.perf_counter() - start > 60 * chosen.minutes:
                print(f"left out, as the time is up: {line}", file=sys.stderr)
                continue
            asked = (
                line.size,
                line.precision,
                line.compiled,
                temporary,
                file,
                line.rows(chosen.rows),
                chosen.device,
            )
            table.append(line.told(together(line.jobs, *asked), peaks[line.precision]))
            print(f"{time.perf_counter() - start:.0f} s:", *table[-1], file=sys.stderr, flush=True)
    header = [
        "model",
        "precision",
        "jobs",
        "compiled",
        "sequences/s",
        "tokens/s",
        "TFLOPS",
        "of the peak",
    ]
    print_table([*header, "where a GPU's time goes"], table)


if __name__ == "__main__":
    main()
