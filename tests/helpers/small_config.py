"""A small config as a mapping, and what is wrong with variations of it."""

from copy import deepcopy
from typing import Any

import pytest
import yaml

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config

CONTENT = yaml.safe_load("""
inference: {precision: float32}
synthetic: {strengths: {none: 0.0, strong: 0.9}}
tokenizers:
  bert: {mask: "[MASK]", checkpoint: bert-base-uncased, revision: main}
models:
  answers: {task: question-answering, variant: qa, kind: QA, label: QA, checkpoint: org/answers, revision: main}
  masked: {task: fill-mask, variant: lm-bert, kind: LM, label: LM, checkpoint: bert-base-uncased, revision: main}
  trained: {task: question-answering, variant: qa, kind: QA, label: QA, train: {synthetic: strong}}
datasets:
  religion:
    title: Religion
    subjects: [subjects/religion.txt]
    attributes: attributes/religion.txt
    variants:
      qa: {templates: templates/religion-qa.txt}
      lm-bert: {templates: templates/religion-lm.txt}
run: {models: [answers, masked], datasets: [religion]}
""")

OF_ALL = {
    "plugins": ["plugins/greetings.py"],
    "datasets": {
        "religion": {"family": "greetings", "title": "Religion", "texts": "greetings.txt"}
    },
}
"""A dataset for any model, of no built-in family; see the fixture `general`."""
GENERAL = CONTENT | OF_ALL


def changed(path: str, value: object, of: dict[str, Any] = CONTENT) -> dict[str, Any]:
    """A config with another value at a path such as `run.models`; None removes the key."""
    content = deepcopy(of)
    *sections, key = path.split("/")
    section = content
    for part in sections:
        section = section[part]
    if value is None:
        del section[key]
    else:
        section[key] = value
    return content  # type: ignore[no-any-return]


def faults_of(content: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_config(content, "c.yaml")
    return [str(fault) for fault in caught.value.faults]
