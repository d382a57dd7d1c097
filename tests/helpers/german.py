"""Rules of German for the sentences of datasets: articles, adjectives and nouns that agree,
contractions and capitals.

A noun phrase is an article or possessive, adjectives and a noun. What its words may be together, in
gender, number and case, must leave something; behind a preposition it must be a case that the
preposition takes. Words stand in a lexicon with their gender: a sentence with a noun that is not
there is a fault, so that no word goes unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

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
    """Yields what is wrong with a German text.

    Args:
        text: whole sentences.
        names: names of people.
    """
    yield from form_faults(text)
    yield from (f"never on one day: {found}" for found in NEVER_ON_ONE_DAY.findall(text))
    for sentence in sentences_of(text):
        yield from capital_faults(sentence, names)
        words = [
            word if place else word[:1].lower() + word[1:] for place, word in enumerate(sentence)
        ]
        if sentence[0] in NOUNS or sentence[0] in names:
            words[0] = sentence[0]
        for place in range(len(words)):
            yield from phrase_faults(words, place)


def capital_faults(sentence: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Yields nouns in small letters, and capitals of what is no noun."""
    for place, word in enumerate(sentence):
        if not word[0].isalpha() or word in MASKS:
            continue
        if (
            word[0].islower()
            and word.capitalize() in NOUNS
            and word.capitalize() not in ("Arm", "Leben", "Essen")
        ):
            yield f"noun in small letters: {word}"
        begins = place == 0
        if (
            word[0].isupper()
            and not begins
            and word not in NOUNS
            and word not in names
            and word not in CAPITAL_ANYWAY
        ):
            yield f"not in the lexicon: {word}"


def phrase_faults(words: Sequence[str], place: int) -> Iterator[str]:
    """Yields what is wrong with the noun phrase that begins at a place, if one does."""
    word, before = words[place], words[place - 1] if place else ""
    if f"{before} {word}".lower() in SHOULD_CONTRACT:
        yield f"not contracted: {before} {word}"
    if word in CONTRACTED:
        # `der im Sommer geborene Mann` is read from its article on, too.
        allowed, adjectives, start = CONTRACTED[word], WEAK, place + 1
    elif word in DER and words[place + 1 : place + 2] != [","]:
        allowed, adjectives, start = DER[word], WEAK, place + 1
    elif word in INDEFINITE:
        allowed, adjectives, start = INDEFINITE[word], MIXED, place + 1
    elif stem_of(word) and not is_within_phrase(words, place):
        allowed, adjectives, start = readings("mnadg fnadg nnadg pnadg"), STRONG, place
    else:
        return
    cases = PREPOSITIONS.get(before)
    if cases:
        allowed = frozenset(reading for reading in allowed if reading[1] in cases)
    phrase = [word]
    for place_of_next in range(start, len(words)):
        following = words[place_of_next]
        phrase += [following] if place_of_next > place else []
        if following in NOUNS and (word in CONTRACTED or not is_inserted(words, place_of_next)):
            if not allowed & NOUNS[following]:
                yield f"does not agree: {' '.join(filter(None, [before if cases else '', *phrase]))}"
            return
        ending = ending_of(following)
        if ending is not None:
            allowed = allowed & adjectives.get(ending, frozenset())
        elif following not in BETWEEN and not is_inserted(words, place_of_next):
            break
    # Behind `der` a noun may be left out, and `einer der beiden` is a pronoun.
    if (word in INDEFINITE or word in CONTRACTED) and words[place + 1 : place + 2] != ["der"]:
        yield f"no noun behind: {' '.join(phrase)}"


def is_inserted(words: Sequence[str], place: int) -> bool:
    """Says whether a noun is part of what stands before a participle: `der im Sommer geborene
    Mann`.
    """
    follows = ending_of(words[place + 1]) is not None if place + 1 < len(words) else False
    return follows and words[place - 1] == "im"


def is_within_phrase(words: Sequence[str], place: int) -> bool:
    """Says whether an adjective stands behind an article, an adjective or a numeral."""
    before = words[place - 1] if place else ""
    return (
        before in DER
        or before in INDEFINITE
        or before in CONTRACTED
        or before in BETWEEN
        or before in NOUNS
    )


def stem_of(word: str) -> str:
    """Returns the adjective that a word is a form of, nothing where it is none."""
    for ending in ("en", "em", "er", "es", "e"):
        if word.endswith(ending) and word.removesuffix(ending) in ADJECTIVES:
            return word.removesuffix(ending)
    return ""


def ending_of(word: str) -> str | None:
    """Returns the ending of an adjective, None where a word is none."""
    stem = stem_of(word)
    return word.removeprefix(stem) if stem else None
