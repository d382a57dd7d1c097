"""Draws sentences of the guides at random, to be read by somebody who marks those that nobody would write.

Run it in the root of the repository: `.venv/bin/python docs/draw_sentences.py --seed 46 --count 200`.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from documents import read_document, sentences  # noqa: E402

FEWEST_WORDS = 5
"""Shorter pieces are leads of lists and the like."""
FOR_REFERENCE = {"docs/outputs.md", "docs/benchmarks.md", "docs/releasing.md"}


def guide_sentences() -> list[str]:
    """Returns the sentences of all guides, each behind the name of its page."""
    folders = (ROOT / "docs", ROOT / "word_lists")
    pages = [
        "README.md",
        "config/README.md",
        *(str(p.relative_to(ROOT)) for each in folders for p in each.rglob("*.md")),
    ]
    return [
        f"{page}: {sentence}"
        for page in sorted(pages)
        for sentence in sentences(read_document(page))
        if len(sentence.split()) >= FEWEST_WORDS
    ]


def main() -> None:
    """Prints a sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    print(*random.Random(arguments.seed).sample(guide_sentences(), arguments.count), sep="\n")


if __name__ == "__main__":
    main()
