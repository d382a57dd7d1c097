"""The options of a question, and the patterns that find them in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from re import Pattern

from biasgrid.base.languages import Language
from biasgrid.readers.text import NOTHING, any_of, plain_text

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
WORD_LETTER = "[AI]"
"""A capital that may be a word: the article, or the speaker."""
A_WORD = re.compile(r"[^\W\d_]{2}")
"""Names without letters, such as numbers, occur by chance and are not searched for."""


@dataclass(frozen=True)
class Menu:
    """The options of a question.

    Attributes:
        texts: the options in the order shown, as the prompt shows them; "" for an option that has
            only a letter.
        letters: whether the prompt gives letters to the options.
        names: another name of each option, such as the person's name in the context; "" for an
            option without. Empty if no option has one.
        unknown: the position of the option that means "not known"; None if there is none.
    """

    texts: tuple[str, ...]
    letters: bool = False
    names: tuple[str, ...] = ()
    unknown: int | None = None

    @property
    def alphabet(self) -> str:
        """The letters of the options in lower case, "" if they have none."""
        return ALPHABET[: len(self.texts)] if self.letters else ""


@dataclass(frozen=True)
class MenuPatterns:
    """The patterns of a menu's options in a language.

    Attributes:
        option_by_name: the position of the option by `name_key` of each of its names.
        name: the name of an option.
        marked_letter: a letter that stands for an option by its form: `(b)`, `B.`, `B:` or `B`
            alone.
        led_letter: a letter after "the answer is", where it needs no mark.
        spaced_letter: a capital and a space, after which the option's name must follow.
        bracketed_letter: a letter in brackets, anywhere in a sentence.
        judged_letter: a capital that is called correct.
        other_letter: a second letter directly after another: `A or D`.
        unknown: a phrase for "not known"; matches nothing if the menu has no such option.
    """

    option_by_name: dict[str, int]
    name: Pattern[str]
    marked_letter: Pattern[str]
    led_letter: Pattern[str]
    spaced_letter: Pattern[str]
    bracketed_letter: Pattern[str]
    judged_letter: Pattern[str]
    other_letter: Pattern[str]
    unknown: Pattern[str]

    def find_option(self, name: str) -> int:
        """Returns the position of the option with a name that `self.name` has matched."""
        return self.option_by_name[name_key(name)]


@cache
def menu_patterns(menu: Menu, language: Language) -> MenuPatterns:
    """Compiles the patterns of a menu."""
    option_by_name = option_names(menu, language)
    # The longest first: an alternation takes the first alternative that matches.
    name = any_of(map(loose, sorted(option_by_name, key=len, reverse=True)))
    lower = menu.alphabet
    either = language.either or NOTHING
    explains = any_of(language.explains)
    # `[]` is not a valid pattern.
    small, capital = (f"[{letters}]" if letters else NOTHING for letters in (lower, lower.upper()))
    any_case = f"(?:{small}|{capital})"
    correct = language.correct or NOTHING
    phrases = (
        any_of(phrase.says for phrase in language.unknown) if menu.unknown is not None else NOTHING
    )
    with_mark = (
        rf"[(\[](?P<bracketed>{any_case})[)\]]"
        rf"|(?P<capital>{capital})(?=[\"']?\s*(?:[.!):,;/}}\n—–-]|$|(?:{explains})\b|(?:{correct})|(?:{either})\s+{capital}\b))"  # noqa: RUF001
        rf"|(?P<small>{small})(?=[\"']?(?:[.!):]|\s*$))"
    )
    return MenuPatterns(
        option_by_name=option_by_name,
        # `great-grandfather` and `son-in-law` are other people.
        name=re.compile(rf"(?<![\w-])(?:{name})(?!\w|-\w)", re.IGNORECASE),
        marked_letter=re.compile(with_mark),
        led_letter=re.compile(
            rf"[(\[\"']*(?!{WORD_LETTER}\s+[a-z])(?P<led>{capital})(?!\w|['\"]\w)|{with_mark}"
        ),
        spaced_letter=re.compile(rf"(?P<capital>{capital})\s+(?=\S)"),
        bracketed_letter=re.compile(rf"[(\[](?P<bracketed>{any_case})[)\]]"),
        judged_letter=re.compile(
            rf"(?<![\w'])[(\[]?(?P<capital>{capital})[)\]]?(?![\w'])[^.\n]{{0,200}}?\s(?:{correct})"
        ),
        other_letter=re.compile(
            rf"[)\].]*\s*(?:[,/&]|(?:{either})\s)\s*(?:(?:{either})\s)?\s*(?:[(\[]{any_case}[)\]]|{capital}(?![\w']))"
        ),
        unknown=re.compile(phrases, re.IGNORECASE),
    )


def option_names(menu: Menu, language: Language) -> dict[str, int]:
    """Returns the position of each option by its names, in the form of `name_key`.

    A name without its article is another name of the option, unless it is the name of another
    option, with or without an article.
    """
    option_by_name = {}
    # Texts come last: if the text of one option is the name of another, the text counts.
    for names in (menu.names, menu.texts):
        for option, name in enumerate(names):
            option_by_name[name_key(name)] = option
    option_by_name.pop("", None)
    article = re.compile(rf"(?:{any_of(language.articles)})\s")
    bare_names: dict[str, set[int]] = {}
    for name, option in option_by_name.items():
        if article.match(name):
            bare_name = article.sub("", name, count=1)
            bare_names.setdefault(bare_name, set()).add(option)
    for bare_name, options in bare_names.items():
        if len(options) == 1 and bare_name not in option_by_name:
            option_by_name[bare_name] = min(options)
    return option_by_name


def name_key(name: str) -> str:
    """Returns a name in lower case, with single spaces and without the full stop at its end."""
    return " ".join(plain_text(name).lower().split()).rstrip(".").strip()


def loose(name: str) -> str:
    """Returns the pattern of a name, in which any white space may separate the words."""
    return r"\s+".join(map(re.escape, name.split()))
