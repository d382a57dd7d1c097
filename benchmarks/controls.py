"""How quiet the placebo groups of a pack are: what is distinguishable by classifiers that know no
difference of groups.

The classifiers are tiny, each of weights from a seed of its own. Some have read nothing. Others
have learned the right classes of the pack's texts about women and men; of placebo groups, race and
religion they have read no word. What they tell apart is made by single words alone.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import torch
from stopwatch import print_table
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from biasgrid.base.arrays import FloatArray
from biasgrid.base.sections import Hyperparameters
from biasgrid.families.counterfactual.ask import corpus, expand
from biasgrid.families.counterfactual.family import FAMILY
from biasgrid.families.counterfactual.observe import observe, outputs_of
from biasgrid.families.counterfactual.pack import CasePack, CasePackFiles
from biasgrid.families.counterfactual.read import read
from biasgrid.families.synthetic import SyntheticBias, words_of_instances
from biasgrid.groups.terms import difference, make_records, term_scores
from biasgrid.stats.clusters import clusters_from_texts
from biasgrid.stats.estimate import estimate
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import train

PACKS = Path("word_lists/counterfactual")
GROUPS = {"placebo": ("placebo-groups.json", None), "real": ("groups.json", ("race", "religion"))}
LABELS = ["negative", "positive"]
OPTIONS = {
    "task": "text-classification",
    "labels": LABELS,
    "measures": [],
    "failure_threshold": 0.1,
}
HYPERPARAMETERS = Hyperparameters(epochs=1, learning_rate=0.002, batch_size=32, max_length=64)
MODELS = {"have read nothing": 10, "have learned": 5}
AT_ONCE = 256


def pack_of(file: str, bias_types: tuple[str, ...] | None) -> tuple[CasePack, pl.DataFrame]:
    """Returns the pack with some groups, and its instances."""
    lists, _ = read(
        CasePackFiles(
            PACKS / "templates/sentiment-2.json", PACKS / "fillings", PACKS / file, bias_types
        )
    )
    assert lists is not None
    return lists, pl.concat(expand(lists).parts).cast({pl.String: pl.Categorical})


def classifier(seed: int, words: list[str], corpus_text: str | None, folder: Path) -> Path:
    """Makes a classifier, trained if there are corpus_text; returns its folder."""
    make_base_checkpoint(words, folder / "base", seed)
    if corpus_text is None:
        return folder / "base"
    (folder / "corpus_text.jsonl").write_text(corpus_text)
    paths = folder / "base", [folder / "corpus_text.jsonl"], folder / "model"
    train("text-classification", *paths, HYPERPARAMETERS, threads=1, labels=LABELS)
    return folder / "model"


@torch.inference_mode()
def probabilities(seed: int, folder: Path, instances: pl.DataFrame) -> FloatArray:
    """What a classifier says of each instance, shape (instances, classes)."""
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=len(LABELS)
    ).eval()
    if folder.name == "base":
        torch.nn.init.normal_(model.classifier.weight)
    tokenizer, texts = (
        AutoTokenizer.from_pretrained(folder),
        instances["text"].cast(pl.String).to_list(),
    )
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    logits = [model(**tokenizer(part, padding=True, return_tensors="pt")).logits for part in parts]
    found: FloatArray = torch.cat(logits).softmax(dim=1).double().numpy()
    return found


def told_apart(said: FloatArray, lists: CasePack, instances: pl.DataFrame) -> pl.DataFrame:
    """Returns `generalises_to`, `bias_type`, how many pairs of groups are significant, and of how
    many.
    """
    predictions = pl.DataFrame(
        {"instance": instances["instance"], "probabilities": said.tolist()}
    ).with_columns(pl.col("probabilities").cast(pl.List(pl.Float32)))
    observations = observe(instances, predictions, OPTIONS)
    records = make_records(observations, outputs_of(observations, OPTIONS))
    values = said[range(len(said)), instances["label"].cast(pl.Int64)]
    settings = StatisticsSettings(clusters_from_texts(FAMILY.cluster_texts(lists), "auto"))
    sums = [difference(scores).named("difference") for scores in term_scores(records, values)]
    pairs = estimate(sums, settings).drop_nulls("q")
    right = float((said.argmax(axis=1) == instances["label"].to_numpy()).mean())
    found, largest = (pl.col("q") <= SIGNIFICANT).sum(), pl.col("value").abs().max()
    return pairs.group_by("generalises_to", "bias_type").agg(
        found=found, tested=pl.len(), largest=largest, right=pl.lit(right)
    )


def main() -> None:
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    packs = {name: pack_of(*groups) for name, groups in GROUPS.items()}
    _, known = pack_of("groups.json", ("gender",))
    words = sorted(
        {
            word
            for cluster in (known, *(each for _, each in packs.values()))
            for word in words_of_instances(cluster)
        }
    )
    corpus_text = corpus(
        known, "text-classification", SyntheticBias("controls", "none", 0.0, 1, 1, labels=LABELS)
    )
    table = []
    for state, count in MODELS.items():
        found = []
        for seed in range(count):
            with TemporaryDirectory() as folder:
                model = classifier(
                    seed, words, corpus_text if state == "have learned" else None, Path(folder)
                )
                found += [
                    told_apart(probabilities(seed, model, each), lists, each).with_columns(
                        groups=pl.lit(name)
                    )
                    for name, (lists, each) in packs.items()
                ]
        chosen = pl.concat(found).filter(pl.col("generalises_to").str.starts_with("clusters"))
        keys = ["groups", "bias_type", "generalises_to"]
        sums = (
            chosen.group_by(keys)
            .agg(pl.col("found", "tested").sum(), pl.col("largest", "right").mean())
            .sort(keys)
        )
        for *names, some, every, largest, right in sums.rows():
            table.append(
                (
                    state,
                    *names,
                    str(some),
                    str(every),
                    f"{some / every:.2f}",
                    f"{largest:.3f}",
                    f"{right:.2f}",
                )
            )
    header = (
        "models",
        "groups",
        "bias type",
        "generalises_to",
        "significant",
        "of",
        "share",
        "largest difference",
        "right",
    )
    print_table(header, table)


if __name__ == "__main__":
    main()
