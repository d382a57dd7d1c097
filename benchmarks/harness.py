"""Runs lm-evaluation-harness, and writes how long it scored; with the Python of its environment:

    python benchmarks/harness.py OUT run --model hf --tasks TASK ...

What follows OUT are the arguments of `lm_eval`. OUT becomes a JSON object: `seconds` of the
processor in `HFLM.loglikelihood`, which tokenizes and scores all requests once the model is loaded;
and `scores`, a list of prompt, continuation and log-probability.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from lm_eval.__main__ import cli_evaluate  # type: ignore[import-not-found]
from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]


def main() -> None:
    out = Path(sys.argv.pop(1))
    score = HFLM.loglikelihood

    def timed(model: Any, requests: Any, **keys: Any) -> Any:
        start = time.process_time()
        scores = score(model, requests, **keys)
        seconds = time.process_time() - start
        pairs = zip(requests, scores, strict=True)
        listed = [[*request.args, score_and_greedy[0]] for request, score_and_greedy in pairs]
        out.write_text(json.dumps({"seconds": seconds, "scores": listed}))
        return scores

    HFLM.loglikelihood = timed
    cli_evaluate()


if __name__ == "__main__":
    main()
