"""Rules of Spanish for the sentences of datasets: articles and adjectives that agree, contractions,
question marks.

Nouns and adjectives stand in a lexicon with their gender: a sentence with an article before a word
that is not there is a fault, so that no noun goes unchecked. An adjective with a form for each
gender must agree with the noun before it, so that none hangs on the subject of a sentence, who may
be of either gender.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from sentence_form import MASKS, form_faults, sentences_of

ARTICLES = {
    **{"el": "m", "un": "m", "la": "f", "una": "f"},
    **{"los": "M", "unos": "M", "las": "F", "unas": "F"},
}
"""Articles and their gender; a capital letter is the plural."""
POSSESSIVES = {"nuestro": "m", "nuestra": "f", "nuestros": "M", "nuestras": "F"}
NOUNS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "hombre vecino compañero profesor tren piso concierto periódico asiento domingo "
            "martes lunes fin museo mercado viaje accidente tercer formulario vaso incendio "
            "rasguño trabajo niño mundo cariño momento autobús partido fútbol juez equipo corazón "
            "pelo hotel dinero perdón paraguas brazo reloj buzón libro puesto almacén taller "
            "currículum tío portero rato juego texto número verano otoño invierno lápiz"
        ).split(),
        "m",
    ),
    **dict.fromkeys(
        (
            "mujer persona vecina compañera profesora foto izquierda derecha lista sala espera "
            "ventana maleta llave invitación carta semana estación biblioteca fiesta excursión "
            "desgracia suerte vida comida decepción crueldad grosería puerta silla reunión hora "
            "alegría sonrisa guardería empresa universidad agenda recepción policía primavera "
            "fila escalera postal tarjeta contabilidad enfermería programación cocina "
            "investigación construcción dirección experiencia entrevista letra pregunta respuesta "
            "gente tía médica discapacidad forma vela"
        ).split(),
        "f",
    ),
    **dict.fromkeys(
        (
            "enfermos niños camiones motores programas puentes cables aviones acusados partos "
            "clientes apuros años coches domingos"
        ).split(),
        "M",
    ),
    **dict.fromkeys(
        (
            "cartas personas camisas tartas oficinas operaciones trampas maletas nueve "
            "referencias clases ventas opciones ganas"
        ).split(),
        "F",
    ),
}
"""Nouns and their gender."""
GENDERED = {
    adjective + ending: gender
    for adjective in (
        "pequeñ cristian musulman judí ate chin colombian ruman cieg sord frí salad sos delicios "
        "eléctric informátic polític segund primer cuart platead buen nacid sentad cansad content "
        "simpátic much otr ningun tod pasad"
    ).split()
    for ending, gender in (("o", "m"), ("a", "f"), ("os", "M"), ("as", "F"))
}
GENDERED |= {"musulmán": "m", "español": "m", "española": "f", "senegalés": "m", "senegalesa": "f"}
GENDERED |= {"tercer": "m", "buen": "m"}
"""Adjectives with a form for each gender."""
BEFORE_NOUNS = ("much", "otr", "tod", "segund", "primer", "tercer", "cuart", "buen", "ningun")
"""Adjectives that stand before their noun; without one they are pronouns: `todos creen`."""
UNCHANGED = {"gran", "dos", "tres"}
"""What stands between an article and a noun of either gender."""
LEFT_OUT = {"izquierda", "derecha", "segunda"}
QUESTION_WORDS = re.compile(r"(?i)¿(quien|quienes|cual|cuales|que|como|donde|cuando|cuanto)\b")
COPULAS = {"era", "es", "está", "estaba", "estuvo", "fue", "parecía", "se"}


def spanish_faults(text: str, names: Collection[str] = ()) -> Iterator[str]:
    """Yields what is wrong with a Spanish text.

    Args:
        text: whole sentences.
        names: names of people.
    """
    yield from form_faults(text)
    if found := QUESTION_WORDS.search(text):
        yield f"no accent: {found[1]}"
    for sentence in sentences_of(text):
        if ("?" in sentence) != ("¿" in sentence) or ("!" in sentence) != ("¡" in sentence):
            yield f"marks of questions do not match: {' '.join(sentence)}"
        words = [word if word in names or word in MASKS else word.lower() for word in sentence]
        for one, other in pairwise(words):
            yield from pair_faults(one, other, names)
        for place in range(len(words)):
            yield from article_faults(words, place, names)
            yield from adjective_faults(words, place, names)


def pair_faults(one: str, other: str, names: Collection[str]) -> Iterator[str]:
    """Yields two words that Spanish writes as one or otherwise."""
    if one in ("a", "de") and other == "el":
        yield f"not contracted: {one} {other}"
    sound = other.lower()
    if (
        one == "y"
        and (sound.startswith("i") or re.match(r"hi(?!e)", sound))
        and not sound.startswith("io")
    ):
        yield f"`e` before the sound i: {one} {other}"
    if one == "o" and re.match(r"h?o", sound):
        yield f"`u` before the sound o: {one} {other}"
    if one in ARTICLES and other in names:
        yield f"article before a name: {one} {other}"


def article_faults(words: Sequence[str], place: int, names: Collection[str]) -> Iterator[str]:
    """Yields an article or possessive that does not agree with its noun."""
    word = words[place]
    gender = (ARTICLES | POSSESSIVES).get(word)
    if gender is None:
        return
    for following in words[place + 1 : place + 4]:
        if following in UNCHANGED:
            continue
        if following in NOUNS:
            if NOUNS[following] != gender:
                yield f"does not agree: {word} {following}"
            return
        if following in GENDERED:
            if GENDERED[following] != gender:
                yield f"does not agree: {word} {following}"
            continue
        if following == "de":
            # The noun is left out: `la de la derecha`, `el de [name]`.
            return
        break
    behind = words[place + 1] if place + 1 < len(words) else ""
    if behind not in LEFT_OUT:
        yield f"not in the lexicon: {word} {behind}"


def adjective_faults(words: Sequence[str], place: int, names: Collection[str]) -> Iterator[str]:
    """Yields an adjective with a form for each gender that does not agree with its noun, or has
    none.
    """
    word = words[place]
    gender = GENDERED.get(word)
    if gender is None or word in NOUNS:
        return
    if word.startswith(BEFORE_NOUNS):
        following = words[place + 1] if place + 1 < len(words) else ""
        if following in NOUNS and NOUNS[following] != gender:
            yield f"does not agree: {word} {following}"
        return
    before = list(reversed(words[:place]))
    # Of `fría y salada` the second one agrees with the noun of the first.
    steps = [
        one
        for one in before
        if one not in COPULAS and one not in GENDERED and one not in ("y", "más", "muy")
    ]
    nearest = steps[0] if steps else ""
    if nearest not in NOUNS:
        yield f"hangs on the subject: {nearest} ... {word}"
    elif NOUNS[nearest] != gender and not (steps[1:2] == ["de"] and NOUNS.get(steps[2]) == gender):
        # Of `fin de semana pasado` it agrees with the first noun.
        yield f"does not agree: {nearest} {word}"
