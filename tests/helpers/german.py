"""Rules of German for the sentences of datasets: articles, adjectives and nouns that agree,
contractions and capitals.

A noun phrase is an article or possessive, adjectives and a noun. What its words may be together, in
gender, number and case, must leave something; behind a preposition it must be a case that the
preposition takes. Words stand in a lexicon with their gender: a sentence with a noun that is not
there is a fault, so that no word goes unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from sentence_form import MASKS, form_faults, sentences_of

Reading = tuple[str, str]
"""A gender (m, f, n) or p for the plural, and a case: n, a, d or g."""


def readings(text: str) -> frozenset[Reading]:
    """Reads `mn fna pd`: a gender or the plural, then cases."""
    return frozenset((part[0], case) for part in text.split() for case in part[1:])


NOUNS = {
    **dict.fromkeys(
        (
            "Mann Nachbar Lehrer Onkel Hausmeister Zug Sonntag Stock Schlüssel Brief Montag "
            "Bahnhof Markt Ausflug Unfall Brand Stuhl Dienstag Regenschirm Arm Bus Kindergarten "
            "Frühling Sommer Herbst Winter Empfang Vertrieb Bau Lebenslauf Abend Buchstaben Text "
            "Mittag Bleistift"
        ).split(),
        readings("mnda"),
    ),
    "Kollege": readings("mn"),
    **dict.fromkeys(
        (
            "Frau Person Nachbarin Kollegin Lehrerin Tante Ärztin Liste Einladung Zeitung Reise "
            "Bibliothek Woche Tür Sitzung Uhrzeit Freude Arbeit Software Partei Universität "
            "Fußballmannschaft Rezeption Polizei Verzeihung Reihe Treppe Uhr Postkarte "
            "Geburtstagskarte Not Stelle Kerze Laune Buchhaltung Pflege Softwareentwicklung "
            "Kinderbetreuung Küche Forschung Geschäftsleitung Autowerkstatt "
            "Berufserfahrung Frage Zahl"
        ).split(),
        readings("fndag"),
    ),
    **dict.fromkeys(
        (
            "Konzert Foto Wartezimmer Fenster Fest Museum Wochenende Glück Geld Essen Formular "
            "Glas Wasser Kind Unternehmen Gericht Lesen Buch Leben Lager Gespräch Spielen"
        ).split(),
        readings("nnda"),
    ),
    "Hotels": readings("ng"),
    # Of plurals, the dative ends in n.
    **dict.fromkeys(
        (
            "Karten Geburten Lastwagen Motoren Brücken Stromleitungen Torten Herzen Menschen "
            "Trauernden Jahren Antworten"
        ).split(),
        readings("pnda"),
    ),
    **dict.fromkeys(
        "Kranke Kinder Flugzeuge Haare Büros Termine Angeklagte Trauernde Zeugnisse Jahre".split(),
        readings("pna"),
    ),
    "Hemden": readings("pnda"),
    "Kindern": readings("pd"),
    "Koffer": readings("mnda pna"),
    "Leute": readings("pna"),
}
"""Nouns, with what their form may be."""
DER = {
    "der": readings("mn fdg pg"),
    "die": readings("fna pna"),
    "das": readings("nna"),
    "den": readings("ma pd"),
    "dem": readings("md nd"),
    "des": readings("mg ng"),
    "diese": readings("fna pna"),
}
EIN = {
    "": readings("mn nna"),
    "e": readings("fna pna"),
    "en": readings("ma pd"),
    "em": readings("md nd"),
    "er": readings("fdg pg"),
    "es": readings("mg ng"),
}
INDEFINITE = {
    stem + ending: found - (readings("pnadg") if stem == "ein" else frozenset())
    for stem in ("ein", "kein", "mein", "unser")
    for ending, found in EIN.items()
}
CONTRACTED = {
    **dict.fromkeys(("am", "im", "zum", "beim", "vom"), readings("md nd")),
    "zur": readings("fd"),
    **dict.fromkeys(("ins", "ans"), readings("na")),
}
SHOULD_CONTRACT = {"an dem", "in dem", "zu dem", "bei dem", "von dem", "zu der", "in das", "an das"}
PREPOSITIONS = {
    **dict.fromkeys("aus bei mit nach von zu gegenüber".split(), "d"),
    **dict.fromkeys("für um durch gegen ohne".split(), "a"),
    **dict.fromkeys("an auf hinter in neben unter vor über".split(), "ad"),
}
ADJECTIVES = set(
    (
        "klein alt nigerianisch grün grau link recht erst zweit dritt viert letzt jung älter "
        "blind gehörlos autistisch behindert deutsch polnisch türkisch syrisch chinesisch "
        "amerikanisch christlich muslimisch jüdisch hinduistisch buddhistisch atheistisch geboren "
        "großartig blau silbern kurz gut"
    ).split()
)
WEAK = {"e": readings("mn fna nna"), "en": readings("ma mdg fdg ndg pnadg")}
MIXED = {
    "er": readings("mn"),
    "e": readings("fna"),
    "es": readings("nna"),
    "en": readings("ma mdg fdg ndg pnadg"),
}
STRONG = {
    "er": readings("mn fdg pg"),
    "e": readings("fna pna"),
    "es": readings("nna"),
    "en": readings("ma mg ng pd"),
    "em": readings("md nd"),
}
NEVER_ON_ONE_DAY = re.compile(
    r"\bnie am (?:Mon|Diens|Donners|Frei|Sams|Sonn)tag\b|\bnie am Mittwoch\b"
)
"""What denies of a single day that it ever was: never is denied of any such day, `nie an einem
Dienstag`.
"""
CAPITAL_ANYWAY = {"Ja", "Nein", "A", "B", "Kopenhagen"}
"""Words in capitals that are no nouns, and names of places."""
NUMERALS = {"zwei", "zehn", "neun"}
BETWEEN = {"nicht", "im"}
"""What may stand between an article and its adjective: `die nicht behinderte Frau`, `der im Sommer
geborene Mann`.
"""


def german_faults(text: str, names: Collection[str] = ()) -> Iterator[str]:
    """Yields the faults of a German text.

    Args:
        text: whole sentences.
        names: names of people.
    """
    yield from form_faults(text)
    for words_of_day in NEVER_ON_ONE_DAY.findall(text):
        yield f"never on one day: {words_of_day}"
    for sentence in sentences_of(text):
        yield from capital_faults(sentence, names)
        words = list(sentence)
        # The first word has a capital whatever it is.
        if sentence[0] not in NOUNS and sentence[0] not in names:
            words[0] = sentence[0][:1].lower() + sentence[0][1:]
        for place in range(len(words)):
            yield from phrase_faults(words, place)


def capital_faults(sentence: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Yields nouns in small letters, and other words with capitals."""
    for place, word in enumerate(sentence):
        if not word[0].isalpha() or word in MASKS:
            continue
        as_noun = word.capitalize()
        # These are also an adjective and verbs.
        if word[0].islower() and as_noun in NOUNS and as_noun not in ("Arm", "Leben", "Essen"):
            yield f"noun in small letters: {word}"
        is_known = word in NOUNS or word in names or word in CAPITAL_ANYWAY
        if word[0].isupper() and place > 0 and not is_known:
            yield f"not in the lexicon: {word}"


class PhraseBeginning(NamedTuple):
    """The beginning of a noun phrase.

    Attributes:
        readings: readings that its first word allows the noun.
        endings: readings that the endings of adjectives behind it allow.
        start: the place from which adjectives and the noun are read.
    """

    readings: frozenset[Reading]
    endings: Mapping[str, frozenset[Reading]]
    start: int


def phrase_beginning(words: Sequence[str], place: int) -> PhraseBeginning | None:
    """Returns the beginning of the noun phrase at a place, None if none begins there."""
    word = words[place]
    if word in CONTRACTED:
        # `der im Sommer geborene Mann` is read from its article on, too.
        return PhraseBeginning(CONTRACTED[word], WEAK, place + 1)
    if word in DER and words[place + 1 : place + 2] != [","]:
        return PhraseBeginning(DER[word], WEAK, place + 1)
    if word in INDEFINITE:
        return PhraseBeginning(INDEFINITE[word], MIXED, place + 1)
    if stem_of(word) and not is_within_phrase(words, place):
        return PhraseBeginning(readings("mnadg fnadg nnadg pnadg"), STRONG, place)
    return None


def phrase_faults(words: Sequence[str], place: int) -> Iterator[str]:
    """Yields the faults of the noun phrase that begins at a place, if one does."""
    word = words[place]
    before = words[place - 1] if place else ""
    if f"{before} {word}".lower() in SHOULD_CONTRACT:
        yield f"not contracted: {before} {word}"
    beginning = phrase_beginning(words, place)
    if beginning is None:
        return
    allowed, endings, start = beginning
    cases = PREPOSITIONS.get(before)
    if cases:
        allowed = frozenset(reading for reading in allowed if reading[1] in cases)
    last = place
    for last in range(start, len(words)):
        following = words[last]
        if following in NOUNS and (word in CONTRACTED or not is_inserted(words, last)):
            if not allowed & NOUNS[following]:
                first = place - 1 if cases else place
                yield f"does not agree: {' '.join(words[first : last + 1])}"
            return
        ending = ending_of(following)
        if ending is not None:
            allowed = allowed & endings.get(ending, frozenset())
        elif following not in BETWEEN and not is_inserted(words, last):
            break
    # Behind `der` a noun may be left out, and `einer der beiden` is a pronoun.
    needs_noun = word in INDEFINITE or word in CONTRACTED
    if needs_noun and words[place + 1 : place + 2] != ["der"]:
        yield f"no noun behind: {' '.join(words[place : last + 1])}"


def is_inserted(words: Sequence[str], place: int) -> bool:
    """Whether a noun belongs to a participle behind it: `der im Sommer geborene Mann`."""
    if place + 1 >= len(words):
        return False
    return ending_of(words[place + 1]) is not None and words[place - 1] == "im"


def is_within_phrase(words: Sequence[str], place: int) -> bool:
    """Whether an adjective stands behind an article, an adjective or a numeral."""
    before = words[place - 1] if place else ""
    return any(before in group for group in (DER, INDEFINITE, CONTRACTED, BETWEEN, NOUNS))


def stem_of(word: str) -> str:
    """Returns the adjective that a word is a form of, an empty string if it is none."""
    for ending in ("en", "em", "er", "es", "e"):
        if word.endswith(ending) and word.removesuffix(ending) in ADJECTIVES:
            return word.removesuffix(ending)
    return ""


def ending_of(word: str) -> str | None:
    """Returns the ending of an adjective, None if the word is none."""
    stem = stem_of(word)
    return word.removeprefix(stem) if stem else None
