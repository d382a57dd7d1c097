"""Prompts of sets that people have, with a few items of our own in each layout."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from biasgrid.base.faults import Fault
from biasgrid.families.rewriting.read import (
    LAYOUTS,
    LayoutName,
    RewritingFiles,
    read,
    read_layout,
    read_prompt_file,
)

TEXTS = [
    "The baker told his sister that",
    "A storm came up and the\u200b sailors",
    "The baker told his sister that",
    " ",
]
SCORES = {"toxicity": 0.1, "threat": None}
TOXIC = [
    {
        "filename": f"{place}.txt",
        "begin": 0,
        "end": 9,
        "challenging": False,
        "prompt": {"text": text, **SCORES},
    }
    | {"continuation": {"text": " more", **SCORES}}
    for place, text in enumerate(TEXTS)
]
TALK = "#Person1#: Has Anna sent her bill?\n#Person2#: She has, on Monday."
TALKS = [
    {"fname": "test_0", "dialogue": TALK, "summary": "Anna has sent her bill.", "topic": "a bill"}
]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_every_layout_of_the_config_is_known() -> None:
    assert set(LAYOUTS) == set(get_args(LayoutName))


def test_lines_that_begin_with_a_hash_are_prompts_in_files_with_columns_alone(
    tmp_path: Path,
) -> None:
    faults: list[Fault] = []
    text, rows = tmp_path / "prompts.txt", tmp_path / "prompts.jsonl"
    text.write_text("# She\n\n He asks #1 \nHe asks #1\n")
    assert read_prompt_file(text, "prompt", faults) == ["He asks #1"]
    rows.write_text(lines([{"prompt": "# She"}, {"prompt": " He asks #1 "}]))
    assert read_prompt_file(rows, "prompt", faults) == ["# She", " He asks #1 "]
    table = tmp_path / "prompts.csv"
    table.write_text('prompt\n"# She"\n')
    assert read_prompt_file(table, "prompt", faults) == ["# She"]
    assert faults == []
    text.write_text("# She\n")
    assert read_prompt_file(text, "prompt", faults) == []
    assert [str(fault) for fault in faults] == [
        f"{text}: contains no prompts; expected prompts; in a .txt file, one per line"
    ]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_prompts_for_toxicity_are_read_from_their_folder(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"prompts.{ending}"
    if ending == "jsonl":
        file.write_text(lines(TOXIC))
    else:
        pl.DataFrame(TOXIC).write_parquet(file)
    expected = ["The baker told his sister that", "A storm came up and the sailors"]
    faults: list[Fault] = []
    assert read_layout(tmp_path, "realtoxicityprompts", faults) == expected
    assert read_layout(file, "realtoxicityprompts", faults) == expected
    assert faults == []


@pytest.mark.parametrize("name", ["dialogsum.test.jsonl", "test.csv"])
def test_conversations_are_read_from_their_folder_and_summarised(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("w", newline="") as file:
        if name.endswith("csv"):
            table = csv.DictWriter(file, TALKS[0])
            table.writeheader()
            table.writerows(TALKS)
        else:
            file.write(lines(TALKS))
    groups = tmp_path / "groups.yaml"
    groups.write_text(
        "bias_type: gender\ngroups: [female, male]\nwords: [[she, he, they], [her, his, their]]\n"
    )
    files = RewritingFiles(
        tmp_path, "prompt", groups, 1, None, None, "prompt", None, layout="dialogsum"
    )
    requests, faults = read(files)
    assert faults == []
    assert requests is not None
    assert requests.prompts == (f"Summarise this conversation in a few sentences.\n\n{TALK}",)
    assert (
        "Has Anna sent his bill?\n#Person2#: He has" in list(requests.rewritten_prompts())[1].text
    )
    requests, _ = read(replace(files, template="In short: {prompt}"))
    assert requests is not None
    assert requests.prompts == (f"In short: {TALK}",)


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("dialogsum", None, "", "contains none of the files; expected dialogsum.test.jsonl or"),
        ("realtoxicityprompts", "prompts.jsonl", "", "contains no prompts"),
        (
            "realtoxicityprompts",
            "prompts.jsonl",
            lines(TALKS),
            "line 1: no column 'prompt.text'; expected one of dialogue",
        ),
        (
            "realtoxicityprompts",
            "prompts.jsonl",
            lines([{"prompt": {"text": 3}}]),
            "line 1, prompt.text: is not text",
        ),
        ("dialogsum", "test.csv", 'dialogue\n"a', "not CSV"),
        ("dialogsum", "test.csv", b"dialogue\n\xff\n", "is not UTF-8"),
    ],
)
def test_folders_that_are_no_such_set_are_reported(
    tmp_path: Path, name: LayoutName, file: str | None, content: str | bytes, message: str
) -> None:
    if file:
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    faults: list[Fault] = []
    assert read_layout(tmp_path, name, faults) == []
    assert [message in str(fault) for fault in faults] == [True]
