"""What biasgrid knows of a language: Yes and No, refusals and articles, a file for each
language.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import yaml
from small_probes import HIRING
from small_statements import files_of
from small_tables import whole

import biasgrid.base.languages as languages
from biasgrid.base.languages import (
    FOLDER,
    PHRASES,
    Language,
    Phrase,
    cell_language,
    language_words,
    shipped_languages,
)
from biasgrid.families.probe.ask import expand
from biasgrid.families.probe.measure import observe
from biasgrid.families.probe.read import SCORED, WRITTEN, ProbeFiles, read
from biasgrid.families.statement.ask import expand as expand_statements
from biasgrid.families.statement.observe import observe as observe_statements
from biasgrid.families.statement.observe import read_answers
from biasgrid.families.statement.read import read as read_statements
from biasgrid.groups.scores import exact_match, token_f1
from biasgrid.readers.refusals import is_refusal


def refused(language: str, text: str) -> bool:
    return is_refusal(text, language_words(language))


def test_a_region_makes_no_difference_and_unknown_languages_have_no_words() -> None:
    assert list(shipped_languages()) == ["de", "en", "es"]
    assert language_words("es-MX") == language_words("es") != language_words("en")
    assert language_words("fr") == Language()
    assert cell_language({}) == language_words("en")
    assert cell_language({"language": "de"}).answers == ("Ja", "Nein")


@pytest.mark.parametrize("code", sorted(file.stem for file in FOLDER.glob("*.yaml")))
def test_every_file_has_what_is_needed(code: str) -> None:
    language = language_words(code)
    assert language.name
    assert len(language.answers) == 2
    assert language.articles


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        pytest.param(code, phrase, id=f"{code}-{key}-{phrase.example}")
        for code, language in shipped_languages().items()
        for key in PHRASES
        for phrase in getattr(language, key)
    ],
)
def test_every_phrase_reads_its_example(code: str, phrase: Phrase) -> None:
    assert re.search(rf"(?<!\w)(?:{phrase.says})(?!\w)", phrase.example, re.IGNORECASE)


def test_a_third_language_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOLDER, tmp_path / "languages")
    content = {
        "name": "French",
        "yes": ["Oui"],
        "no": ["Non"],
        "refusals": ["je ne peux pas"],
        "articles": ["le"],
    }
    (tmp_path / "languages/fr.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))
    monkeypatch.setattr(languages, "FOLDER", tmp_path / "languages")
    languages.shipped_words.cache_clear()
    try:
        assert language_words("fr").answers == ("Oui", "Non")
        assert refused("fr", "Je ne peux pas répondre.")
        assert not refused("fr", "Je peux répondre.")
    finally:
        languages.shipped_words.cache_clear()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Das kann ich leider nicht beantworten.", True),
        ("de", "Ich kann diese Frage nicht beantworten.", True),
        ("de", "Es tut mir leid, aber dazu äußere ich mich nicht.", True),
        ("de", "Als KI-Assistent habe ich keine Meinung.", True),
        ("de", "Ich bin nicht in der Lage, das zu beurteilen.", True),
        ("de", "Ja, diese Person soll eingeladen werden.", False),
        ("de", "Die Person kann nicht rechnen.", False),
        ("de", "Ich kann die Person empfehlen.", False),
        ("es", "No puedo responder a esa pregunta.", True),
        ("es", "Lo siento, pero no tengo esa información.", True),
        ("es", "Como modelo de lenguaje, no tengo opiniones.", True),
        ("es", "No sería apropiado decidirlo así.", True),
        ("es", "Sí, se debe invitar a esta persona.", False),
        ("es", "La persona no puede venir.", False),
        ("es", "No sé quién ha sido.", False),
        # Models often decline in English, whatever they are asked in.
        ("de", "I'm sorry, but I can't help with that.", True),
        ("es", "As an AI, I have no opinion.", True),
        # What declines in one language says nothing in another.
        ("en", "No puedo responder.", False),
    ],
)
def test_refusals_are_recognised(language: str, text: str, expected: bool) -> None:
    assert refused(language, text) == expected


@pytest.mark.parametrize(
    ("language", "text", "says_yes"),
    [
        ("de", "Ja.", True),
        ("de", "Nein, das stimmt nicht.", False),
        ("de", "Die Antwort lautet: Nein", False),
        ("de", "Ich habe nachgedacht. Ja!", True),
        ("de", "Jahrelang.", None),
        ("de", "Ja oder nein?", None),
        ("es", "Sí.", True),
        ("es", "¡No!", False),
        ("es", "La respuesta es sí.", True),
        ("es", "No es cierto.", None),
        ("es", "Si llueve, depende.", None),
        ("es", "Sílaba.", None),
        ("en", "No one is.", None),
        ("en", "The correct answer is: Yes", True),
    ],
)
def test_answers_to_statements_are_read(language: str, text: str, says_yes: bool | None) -> None:
    answers = read_answers(
        pl.DataFrame({"status": ["stop"], "response": [text]}), language_words(language)
    )
    assert answers["says_yes"].to_list() == [says_yes]


def test_articles_are_left_out_before_answers_are_compared() -> None:
    german, spanish = (language_words(code).articles for code in ("de", "es"))
    assert exact_match("der rote Hut", "Ein roter Hut", german) == 0
    assert exact_match("Dem Lehrer.", "der Lehrer", german) == 1
    assert exact_match("la casa", "casa", spanish) == 1
    assert exact_match("la casa", "casa") == 0
    assert token_f1("una casa", "la casa roja", spanish) == pytest.approx(2 / 3)
    # No article is a part of a word.
    assert exact_match("lanza", "nza", spanish) == 0


def test_a_probe_asks_for_yes_and_no_in_its_language(tmp_path: Path) -> None:
    probe = tmp_path / "probe.yaml"
    probe.write_text(HIRING)
    digests = set()
    for language, words in (("en", ["Yes", "No"]), ("de-AT", ["Ja", "Nein"]), ("es", ["Sí", "No"])):
        requests, faults = read(ProbeFiles(probe, SCORED, 1, None, language))
        assert requests is not None
        assert faults == []
        (part,) = expand(requests).parts
        assert part.select(pl.col("candidate1", "candidate2").cast(pl.String)).unique().rows() == [
            tuple(words)
        ]
        digests.add(requests.digest())
    assert len(digests) == 3
    _, faults = read(ProbeFiles(probe, SCORED, 1, None, "fr"))
    assert "has no options, so there are no probabilities to read" in str(faults[0])


@pytest.mark.parametrize(
    ("language", "said", "expected"),
    [
        (
            "de",
            ["Ja.", "NEIN", "Ja und nein", "Das kann ich nicht sagen."],
            ["yes", "no", None, None],
        ),
        # "No" is "not" as well: only one that a mark ends is an answer.
        (
            "es",
            ["Sí.", "no", "Sí, no hay problema", "No puedo decirlo."],
            ["yes", "no", "yes", None],
        ),
    ],
)
def test_what_a_probe_finds_in_answers(
    tmp_path: Path, language: str, said: list[str], expected: list[str | None]
) -> None:
    probe = tmp_path / "probe.yaml"
    probe.write_text(HIRING)
    requests, _ = read(ProbeFiles(probe, WRITTEN, 1, None, language))
    assert requests is not None
    (part,) = expand(requests).parts
    answers = pl.DataFrame(
        {"instance": part["instance"][:4], "status": ["stop"] * 4, "response": said}
    )
    found = observe(
        part.head(4), answers, {"probe": str(probe), "mode": None, "language": language}
    )
    assert found["label"].cast(pl.String).to_list() == expected
    if language == "de":
        assert found["outcome"].to_list() == ["answered", "answered", "several", "refused"]


def test_statements_are_answered_in_their_language(tmp_path: Path) -> None:
    files, digests = files_of(tmp_path), set()
    for language, words in (("en", ("Yes", "No")), ("de", ("Ja", "Nein")), ("es", ("Sí", "No"))):
        pack, faults = read_statements(replace(files, language=language))
        assert faults == []
        instances = whole(expand_statements(pack))
        assert instances.select(
            pl.col("candidate1", "candidate2").cast(pl.String)
        ).unique().rows() == [words]
        # What is right has one name in every language.
        assert set(instances["label"].cast(pl.String)) <= {"Yes", "No"}
        digests.add(pack.digest())
    assert len(digests) == 3
    said = instances.select("instance", status=pl.lit("stop"), response=pl.lit("Sí."))
    observed = observe_statements(instances, said, {"language": "es"})
    assert observed["says_yes"].all()
    right = observed["label"].cast(pl.String) == "Yes"
    assert observed["is_right"].to_list() == right.to_list()
