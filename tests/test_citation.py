"""How biasgrid is cited: the files parse, agree with each other, and claim no number that the
documents lack.
"""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from typing import Any

import yaml
from documents import read_document, table_with
from project import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAPER, REFERENCES = read_document("paper/paper.md"), read_document("paper/paper.bib")
CITATION: dict[str, Any] = yaml.safe_load(read_document("CITATION.cff"))
ZENODO: dict[str, Any] = json.loads(read_document(".zenodo.json"))
SECTIONS = [
    *(
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
    ),
    *("AI usage disclosure", "Acknowledgements", "References"),
]
"""What the Journal of Open Source Software asks for, in its order."""


def entries() -> dict[str, dict[str, str]]:
    """The entries of the paper's references, by key."""
    found = re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", REFERENCES, flags=re.MULTILINE | re.DOTALL)
    fields = {
        key: dict(re.findall(r"^  (\w+) = \{(.*)\},?$", body, flags=re.MULTILINE))
        for _, key, body in found
    }
    assert len(fields) == REFERENCES.count("\n@") + 1
    return fields


def test_all_files_have_one_license_and_title() -> None:
    assert {PROJECT["license"].lower(), CITATION["license"].lower()} == {ZENODO["license"]}
    assert CITATION["title"] == ZENODO["title"]
    assert CITATION["abstract"].split() == ZENODO["description"].split()
    assert CITATION["keywords"] == ZENODO["keywords"]


def test_the_citation_has_what_its_format_asks_for() -> None:
    # cffconvert --validate says more; docs/releasing.md asks for it.
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type"} <= set(CITATION)
    assert all(
        {"type", "title", "authors"} <= set(reference) for reference in CITATION["references"]
    )
    assert all(creator["name"] for creator in ZENODO["creators"])


def test_the_paper_has_the_form_of_the_journal() -> None:
    _, front, body = PAPER.split("---\n", 2)
    about = yaml.safe_load(front)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == set(about)
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ \d{4}", about["date"])
    assert {author["affiliation"] for author in about["authors"]} <= {
        place["index"] for place in about["affiliations"]
    }
    assert (ROOT / "paper" / about["bibliography"]).is_file()
    assert re.findall(r"^# (.*)$", body, flags=re.MULTILINE) == SECTIONS
    assert 750 <= len(body.split()) <= 1750


def test_all_that_is_cited_is_listed_and_all_that_is_listed_is_cited() -> None:
    cited = {
        key for keys in re.findall(r"\[(@[^\]]*)\]", PAPER) for key in re.findall(r"@(\w+)", keys)
    }
    assert cited == set(entries())
    assert all(
        {"title", "author"} <= set(fields) and {"doi", "url"} & set(fields)
        for fields in entries().values()
    )


def test_the_papers_numbers_match_the_benchmarks() -> None:
    field = PAPER.split("# State of the field")[1].split("# Software design")[0]
    assert (
        len(re.findall(r"-->\d+\.\d+ times", field))
        == len(re.findall(r"\d+\.\d+ times", field))
        == 4
    )
    assert runpy.run_path(str(ROOT / "docs/benchmark_numbers.py"))["with_numbers"](PAPER) == PAPER
    # Measured numbers stand in this section alone.
    assert not re.findall(r"\d+\.\d+", PAPER.replace(field, "").split("---\n", 2)[2])


def test_the_checklist_names_every_file_that_waits_for_its_owner() -> None:
    listed = [
        row["file"]
        for row in table_with(read_document("docs/releasing.md"), "file", "what to fill in")
    ]
    places = (
        "*.md",
        "*.cff",
        ".zenodo.json",
        "config/*.md",
        "docs/**/*.md",
        "paper/*",
        "packaging/*",
        "rules/*",
    )
    texts = {
        str(path.relative_to(ROOT)): path.read_text()
        for place in places
        for path in ROOT.glob(place)
    }
    waiting = {path for path, text in texts.items() if re.search(r"\bOWNER\b", text)}
    assert set(listed) == waiting - {"docs/releasing.md", "CHANGELOG.md"}
