"""Datasets in German and Spanish: every filled sentence keeps the rules of grammar, which find what
is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import polars as pl
import pytest
from german import NOUNS, german_faults
from spanish import spanish_faults

from biasgrid.base.references import load, stage_module
from biasgrid.config import Config, load_word_lists, parse_config, read_config
from biasgrid.runs.counts import instances_to_ask

ROOT = Path(__file__).parents[2]
LISTS = ROOT / "word_lists"
pytestmark = pytest.mark.family("the datasets are of three of them")

RULES: dict[str, Callable[..., Iterator[str]]] = {"de": german_faults, "es": spanish_faults}
SURNAMES = {"de": "Becker", "es": "García"}
CONTENT = read_config(ROOT / "config/people.yaml")
MODELS = ("mbert", "xlmr-squad2", "xlmr-sentiment", "qwen2-500m")
"""Those of the config that know several languages."""
DATASETS = [
    name for name, section in CONTENT["datasets"].items() if section.get("language") in RULES
]


@cache
def config() -> Config:
    own = {"datasets": {name: CONTENT["datasets"][name] for name in DATASETS}}
    run = {
        "models": [name for name in CONTENT["run"]["models"] if name in MODELS],
        "datasets": DATASETS,
    }
    return parse_config(CONTENT | own | {"run": run, "word_lists": str(LISTS)}, "people.yaml")


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


@cache
def names_of(language: str) -> frozenset[str]:
    files = (LISTS / language / "subjects").iterdir()
    return frozenset(line.split(" | ")[1] for file in files for line in lines_of(file)) | {
        SURNAMES[language]
    }


def texts_of(dataset: str) -> Iterator[str]:
    """Yields the distinct texts of all variants of a dataset."""
    for (name, _), lists in load_word_lists(config()).items():
        if name == dataset:
            for part in (
                load(stage_module(config().family_reference(dataset), "expand")).expand(lists).parts
            ):
                read = [
                    column for column in ("system", "text", "text_pair") if column in part.columns
                ]
                yield from chain.from_iterable(
                    part[column].unique().drop_nulls().cast(pl.String) for column in read
                )


@pytest.mark.slow
@pytest.mark.parametrize("dataset", DATASETS)
def test_every_filled_sentence_is_right(dataset: str) -> None:
    language = config().datasets[dataset].language
    texts = set(texts_of(dataset))
    assert len(texts) > 300
    faults = {
        text: found for text in texts if (found := list(RULES[language](text, names_of(language))))
    }
    assert faults == {}


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("Gestern hat die Mann gewartet.", "does not agree: die Mann"),
        ("Gestern hat der Frau gewartet und der Nachbarin.", None),
        ("Gestern hat das Frau gewartet.", "does not agree: das Frau"),
        ("Gestern hat der muslimischer Mann gewartet.", "does not agree: der muslimischer Mann"),
        ("Gestern hat ein muslimische Mann gewartet.", "does not agree: ein muslimische Mann"),
        ("Gestern hat ein Frau gewartet.", "does not agree: ein Frau"),
        (
            "Gestern hat die im Sommer geborener Frau gewartet.",
            "does not agree: die im Sommer geborener Frau",
        ),
        ("Anna spricht mit der Mann.", "does not agree: mit der Mann"),
        ("Anna spricht mit den Onkel.", "does not agree: mit den Onkel"),
        ("Ein Brief für der Mann kam an.", "does not agree: für der Mann"),
        ("Anna wartet in dem Museum.", "not contracted: in dem"),
        ("Anna geht zu der Bibliothek.", "not contracted: zu der"),
        ("Anna wartet im Bibliothek.", "does not agree: im Bibliothek"),
        ("Anna hat kranke Kinder betreut, und das kind schlief.", "noun in small letters: kind"),
        ("Anna hat Kleine Kinder betreut.", "not in the lexicon: Kleine"),
        ("Anna hat ein Bügeleisen gekauft.", "not in the lexicon: Bügeleisen"),
        ("Anna hat hat gewartet.", "doubled word: hat hat"),
        ("wer hat gewartet?", "small letter at the start: wer"),
        ("Wer hat nie am Dienstag gewartet?", "never on one day: nie am Dienstag"),
        ("Wer hat nie an einem Dienstag gewartet?", None),
        ("Wer hat [p_act]?", "left over: [p_act]"),
        ("Wer hat gewartet", "no mark at the end: gewartet"),
        ("Wer hat  gewartet?", "spacing at 7"),
        ("Wer hat gewartet ?", "spacing at 16"),
    ],
)
def test_faults_of_german_are_found(sentence: str, fault: str | None) -> None:
    assert (
        (fault in german_faults(sentence, {"Anna"}))
        if fault
        else not list(german_faults(sentence, {"Anna"}))
    )


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("Ayer, la hombre esperó.", "does not agree: la hombre"),
        ("Ayer, el mujer esperó.", "does not agree: el mujer"),
        ("Ayer, el hombre musulmana esperó.", "does not agree: hombre musulmana"),
        ("Ayer, la mujer judío esperó.", "does not agree: mujer judío"),
        ("Ayer, la persona ciego esperó.", "does not agree: persona ciego"),
        ("Según nuestro médica, Ana esperó.", "does not agree: nuestro médica"),
        ("La comida estaba fría y salado.", "does not agree: comida salado"),
        ("Ana fue a el museo.", "not contracted: a el"),
        ("La foto de el museo es de Ana.", "not contracted: de el"),
        ("Ana y Inés esperan.", "`e` before the sound i: y Inés"),
        ("Ana o Olga esperan.", "`u` before the sound o: o Olga"),
        ("La Ana espera.", "article before a name: la Ana"),
        ("Ana está cansada.", "hangs on the subject: Ana ... cansada"),
        ("Ana está muy contenta.", "hangs on the subject: Ana ... contenta"),
        ("Quién ha robado dinero?", "marks of questions do not match: Quién ha robado dinero ?"),
        ("¿Quien ha robado dinero?", "no accent: Quien"),
        ("Ana compró un paraguas de la la tía.", "doubled word: la la"),
        ("Ana compró una plancha.", "not in the lexicon: una plancha"),
        ("ayer esperó Ana.", "small letter at the start: ayer"),
        ("El fin de semana pasado, el hombre esperó.", None),
        ("La comida estaba fría y salada, y la persona judía esperó.", None),
    ],
)
def test_faults_of_spanish_are_found(sentence: str, fault: str | None) -> None:
    names = {"Ana", "Inés", "Olga"}
    assert (
        (fault in spanish_faults(sentence, names))
        if fault
        else not list(spanish_faults(sentence, names))
    )


@pytest.mark.parametrize("language", RULES)
def test_lists_say_the_same_of_women_and_men(language: str) -> None:
    folder = LISTS / language
    female, male = (lines_of(folder / "subjects" / f"{group}.txt") for group in ("female", "male"))
    assert len(female) == len(male) == len({*female, *male}) / 2 == 32
    biases = json.loads((folder / "counterfactual/groups.json").read_text())
    for groups in biases.values():
        assert len({len(terms) for terms in groups.values()}) == 1
    lines = lines_of(folder / "attributes/work-and-deeds.txt")
    plain, negated = (
        [line.partition("] ")[2] for line in lines if (":neg]" in line) == is_negated]
        for is_negated in (0, 1)
    )
    never = {"de": ("hat ", "hat nie "), "es": ("| ", "| nunca ")}[language]
    assert negated == [line.replace(*never, 1) for line in plain]


@pytest.mark.parametrize("language", RULES)
@pytest.mark.parametrize("attributes", ["work-and-deeds", "placebo"])
def test_no_question_takes_up_a_word_of_its_text(language: str, attributes: str) -> None:
    """Who looks out of the window is taken for who has opened it, though nothing says so."""
    texts = [line.split("\t")[0] for line in lines_of(LISTS / language / "templates/gender-qa.txt")]
    asked = lines_of(LISTS / language / f"attributes/{attributes}.txt")
    # The beginnings of words, as endings differ: `im zweiten Stock`, `die zweite Reihe`.
    in_texts, in_attributes = (
        {
            word[:5].lower()
            for word in re.findall(r"\w{5,}", re.sub(r"\[.*?\]", "", " ".join(lines)))
        }
        for lines in (texts, asked)
    )
    assert min(len(in_texts), len(in_attributes)) > 20
    assert in_texts & in_attributes == set()


def test_german_terms_are_subjects() -> None:
    """Terms are put in unchanged, so that each must be right as a subject, and no preposition
    stands before it.
    """
    for file in ("groups.json", "placebo-groups.json"):
        for groups in json.loads((LISTS / "de/counterfactual" / file).read_text()).values():
            for term in chain.from_iterable(groups.values()):
                gender = {"der": "m", "die": "f"}[term.split()[0]]
                assert (gender, "n") in NOUNS[term.split()[-1]], term


@pytest.mark.parametrize("language", RULES)
def test_gender_of_names_has_twelve_templates_of_four_kinds(language: str) -> None:
    file = LISTS / language / "templates/gender-qa.txt"
    kinds = [line for line in file.read_text().splitlines()[3:] if line.startswith("#")]
    assert (len(lines_of(file)), len(kinds)) == (12, 4)
    contexts = [line.split("\t")[0] for line in lines_of(file)]
    assert contexts == [line.split("\t")[0] for line in lines_of(file.with_name("gender-lm.txt"))]


def test_the_page_states_the_sizes() -> None:
    """Of questions of one variant, as generative models are asked a sample."""
    page = (ROOT / "docs/languages.md").read_text()
    rows = [
        line.split(" | ")
        for line in page.splitlines()
        if line.startswith("| `") and "-de`, `" in line
    ]
    stated = {row[0].split("`")[1]: int(row[-1].strip("| ").replace(",", "")) for row in rows}
    lists = load_word_lists(config())
    variants = {"gender": "qa", "sentiment": "cases", "hiring-gender": "scored"}
    for name, variant in variants.items():
        for language in RULES:
            dataset = f"{name}-{language}"
            planned = instances_to_ask(
                config().family_reference(dataset), lists[dataset, variant], None
            )
            assert planned.instances == stated[f"{name}-de"], dataset
    assert "114 cases, 65 terms" in page
    assert stated["sentiment-de"] == 114 * 65
