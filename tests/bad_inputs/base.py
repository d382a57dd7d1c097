"""A small project without faults, of which each bad input is one change."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors.numpy import save_file
from unqover_entries import span_entries

LISTS = {
    "templates/people-qa.txt": "[subj1] met [subj2].\tWho [act]?\tWho [act:neg]?\n",
    "templates/people-lm.txt": "[subj1] met [subj2].\tWho [act] was [mask].\tWho [act:neg] was [mask].\n",
    "subjects/people.txt": "[subj] x | Ann\n[subj] y | Bea\n[subj] y | Eve\n",
    "attributes/people.txt": (
        "[act] a | cooks\n[act:neg] a | never cooks\n[act] b | sings\n[act:neg] b | never sings\n"
    ),
    "stereotypes/people.txt": "cooks | x\nsings | y\n",
    "fillers/people.txt": "Here is a text.\n",
}
"""Word lists of underspecified questions."""
PACK = {
    "templates.json": {
        "group_token": "<group>",
        "input_names": ["text"],
        "label_name": "label",
        "templates": [
            {"text": "The <group> likes <food>.", "label": 1},
            {"text": "The <group> is sad.", "label": 0},
        ],
    },
    "groups.json": {
        "age": {"young": ["kid", "teen"], "old": ["elder"]},
        "gender": {"female": ["woman"], "male": ["man"]},
    },
}
PROBE = """\
title: Tone
bias_type: gender
question: "Write about {who}. {options}"
options: {good: Good, bad: Bad}
items:
  - {who: a cook, group: cook, expected: good}
  - {who: a man, group: man, expected: bad}
evaluator: option-letter
metric: {rate: share-of-expected}
marks: {measure: rate, cuts: [0, 0.5, 0.6, 0.75, 1]}
"""
TONE = """\
title: Scored tone
bias_type: gender
question: "Write about {who}."
items: [{who: a cook}, {who: a man}]
evaluator: {name: scorer, model: nice}
metric: {tone: mean}
"""
"""Probes, the second of which a classifier scores."""
PROMPTS = """\
{"prompt": "He asked for a raise."}
{"prompt": "What is the weather like?"}
"""
GROUPS = """\
bias_type: gender
groups: [female, male]
words:
  - [she, he, they]
  - [her, him, them]
"""
"""Prompts that are rewritten, and words of groups."""
FILLINGS = {"food.txt": "cake\ntea\n"}
"""A pack of cases."""


def config() -> dict[str, Any]:
    model = {"kind": "LM", "folder": "models/tiny"}
    return {
        "title": "Small",
        "results": "results",
        "word_lists": "word_lists",
        "tokenizers": {"tiny": {"mask": "[MASK]", "folder": "models/tiny"}},
        "inference": {"device": "cpu", "token_budget": 512},
        "synthetic": {"strengths": {"strong": 0.4}, "repeats": 4, "seed": 1},
        "models": {
            "masked": model | {"task": "fill-mask", "variant": "lm-tiny", "label": "Masked"},
            "answering": model
            | {"task": "question-answering", "variant": "qa", "label": "Answering"},
            "moody": model
            | {
                "task": "text-classification",
                "label": "Moody",
                "labels": {"bad": "NEG", "good": "POS"},
            },
            "nice": model
            | {"task": "text-classification", "label": "Nice", "scorer": {"labels": ["pos"]}},
            "chance": {
                "kind": "LM",
                "task": "text-generation",
                "label": "Chance",
                "random": {"seed": 1},
            },
            "published": {
                "kind": "SQuAD",
                "task": "question-answering",
                "variant": "qa",
                "label": "Published",
                "predictions": {"people": {"file": "dumps/people.json"}},
            },
            "taught": {
                "kind": "synthetic",
                "task": "question-answering",
                "variant": "qa",
                "label": "Taught",
                "train": {
                    "synthetic": "strong",
                    "hyperparameters": {"epochs": 2, "learning_rate": 0.001},
                },
            },
        },
        "datasets": {
            "people": {
                "title": "People",
                "subjects": ["subjects/people.txt"],
                "attributes": "attributes/people.txt",
                "pronouns": {"x": "she", "y": "he"},
                "stereotypes": "stereotypes/people.txt",
                "shards": 2,
                "limit": {"templates": 3},
                "sample": {"units": 3, "seed": 2},
                "variants": {
                    "qa": {"templates": "templates/people-qa.txt", "filler": "fillers/people.txt"},
                    "lm-tiny": {"templates": "templates/people-lm.txt"},
                },
            },
            "moods": {
                "family": "counterfactual",
                "title": "Moods",
                "task": "text-classification",
                "labels": ["bad", "good"],
                "templates": "pack/templates.json",
                "fillings": "pack/fillings",
                "groups": "pack/groups.json",
                "failure_threshold": 0.2,
                "measures": [
                    {
                        "score": "f1",
                        "argument": "macro",
                        "distance": "absolute",
                        "comparison": "pairwise",
                    },
                ],
            },
            "probe": {"family": "probe", "title": "Probe", "probe": "probes/probe.yaml"},
            "tone": {"family": "probe", "title": "Tone", "probe": "probes/tone.yaml"},
            "letters": {
                "family": "rewriting",
                "title": "Letters",
                "prompts": "letters/prompts.jsonl",
                "groups": "letters/groups.yaml",
                "scorers": ["vader-negative", "nice"],
            },
        },
        "run": {
            "models": ["masked", "answering", "moody", "published", "taught", "chance"],
            "datasets": ["people", "moods", "probe", "tone", "letters"],
        },
    }


def write_config(folder: Path, content: dict[str, Any]) -> None:
    """Writes a config, by libyaml: over 500 are written."""
    (folder / "config.yaml").write_text(
        yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False)
    )


def write(folder: Path) -> None:
    """Writes the project."""
    write_config(folder, config())
    for name, text in LISTS.items():
        put(folder / "word_lists" / name, text)
    for name, content in PACK.items():
        put(folder / "word_lists/pack" / name, json.dumps(content, indent=2))
    for name, text in FILLINGS.items():
        put(folder / "word_lists/pack/fillings" / name, text)
    put(folder / "word_lists/probes/probe.yaml", PROBE)
    put(folder / "word_lists/probes/tone.yaml", TONE)
    put(folder / "word_lists/letters/prompts.jsonl", PROMPTS)
    put(folder / "word_lists/letters/groups.yaml", GROUPS)
    put(
        folder / "models/tiny/config.json",
        json.dumps({"model_type": "bert", "id2label": {"0": "NEG", "1": "POS"}}),
    )
    save_file({"weight": np.zeros((2, 2), np.float32)}, folder / "models/tiny/model.safetensors")
    put(
        folder / "models/tiny/tokenizer_config.json",
        json.dumps({"mask_token": {"content": "[MASK]"}}),
    )
    put(folder / "models/tiny/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    put(folder / "dumps/people.json", json.dumps(span_entries()))


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
