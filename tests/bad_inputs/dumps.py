"""Bad dumps of UnQover: what is wrong, where, and the words that the message of `biasgrid import
unqover` must hold.

A row changes one thing of a file without faults: `at` is a place in its second entry, or empty for
its whole text.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from changes import GONE, swap
from unqover_entries import BEA_ANN, Entries, mask_entries, source_entries, span_entries

FILES: dict[str, Callable[[], Entries]] = {
    "source": source_entries,
    "spans": span_entries,
    "masks": mask_entries,
}
"""A `source.json`, and an `output.json` of question answering and of a masked language model."""
KEY = "key"
"""The place of the second entry's key."""


class BadDump(NamedTuple):
    """A bad dump.

    Attributes:
        of: which file it was.
        at: where it is bad: names and dots, `KEY`, or empty for the text of the file.
        put: what stands there: a value, `GONE`, or for a text also bytes or a function of it.
        says: what the message must hold.
    """

    of: str
    at: str
    put: Any
    says: tuple[str, ...]

    def content(self) -> bytes:
        """Makes the file."""
        entries = json.loads(good(self.of))
        if self.at == KEY:
            entries[self.put] = entries.pop(BEA_ANN)
        elif self.at:
            place = entries[BEA_ANN]
            *path, last = self.at.split(".")
            for name in path:
                place = place[name]
            if self.put is GONE:
                del place[last]
            else:
                place[last] = self.put
        text = json.dumps(entries, indent=1)
        if self.at:
            return text.encode()
        made = self.put(text) if callable(self.put) else self.put
        return made if isinstance(made, bytes) else made.encode()


@cache
def good(of: str) -> str:
    """The text of a file without faults."""
    return json.dumps(FILES[of]())


def bad(of: str, at: str, put: Any, *says: str) -> BadDump:
    return BadDump(of, at, put, says)


def key(**parts: str) -> str:
    """The second entry's key, with other parts."""
    names = ["group1", "group2", "subject1", "subject2", "template", "sort", "act", "negated"]
    return "|".join(
        parts.get(name, part) for name, part in zip(names, BEA_ANN.split("|"), strict=True)
    )


def last(old: str, new: str) -> Callable[[str], str]:
    """Replaces the last of some texts."""
    return lambda text: new.join(text.rsplit(old, 1))


def cut(share: float) -> Callable[[str], str]:
    """Cuts a text off."""
    return lambda text: text[: round(share * len(text))]


NUL, HALF, WIDTHLESS = "\0", "a\ud800", "Bea\u200b"
OBJECT, ANSWER = (
    "expected an object with ans0, ans1, pred, question",
    "expected an object with end, start, text",
)
EARLY = "the file ends too early"
CUT = [
    bad(of, "", cut(share), EARLY)
    for of in FILES
    for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
]
NO_DUMP = [
    bad("source", "", b"", "line 1, column 1: the file ends too early"),
    bad("source", "", b"{}", "no entries; expected at least one swap group"),
    bad("source", "", b"null", "expected '{' at the beginning of the file"),
    bad("source", "", b'"x"', "expected '{' at the beginning of the file"),
    bad("source", "", b"\0" * 100, "expected '{' at the beginning of the file"),
    bad("source", "", b"\xef\xbb\xbf{}", "'\\ufeff{}'; expected '{' at the beginning of the file"),
    bad("source", "", lambda text: text.encode("utf-16"), "after line 1: byte 0xff is not UTF-8"),
    bad(
        "source",
        "",
        lambda text: text.encode().replace(b"Bea", b"B\xe9a"),
        "byte 0xe9 is not UTF-8",
    ),
    bad("spans", "", lambda text: gzip.compress(text.encode()), "is not UTF-8"),
    bad("spans", "", lambda text: f"[{text}]", "expected '{' at the beginning of the file"),
    bad("spans", "", lambda text: text + text, "after the last '}'; expected the end of the file"),
    bad("spans", "", lambda text: text + "x", "'x' after the last '}'"),
    bad("spans", "", last("}", ",}"), "not JSON"),
    bad("spans", "", swap('"q0"', "'q0'"), "not JSON"),
    bad("spans", "", swap("{", "{// published in 2020\n"), "not JSON"),
    bad(
        "spans",
        "",
        swap('"q0": {', '"q0": {"pred": "x", '),
        "the key 'pred' appears twice in one object",
    ),
    bad(
        "spans",
        "",
        swap('"context": "', '"context": "' + "x" * 70000),
        "a value is too long; expected at most 65536",
    ),
    bad("spans", "", swap('"line": 0', '"line": ' + "9" * 5000), "a number that cannot be read"),
    bad("spans", "", swap('"q0": {', '"q0": ' + "[" * 30000), "are nested too deeply"),
    bad("masks", "", lambda text: text.partition("\n")[0] + "\n}", "no entries"),
]
KEYS = [
    *(
        bad(of, KEY, key(template=number), "in the key; expected a whole number from 0 to 9999")
        for of in FILES
        for number in ("-1", "70000", "1_0", "\u0661", "+1", " 1", "1.0", "1e3", "", "9" * 5000)
    ),
    *(
        bad(of, KEY, key(**{name: "Bea"}), "both subjects in the key are 'Bea'; expected two")
        for of in FILES
        for name in ("subject2",)
    ),
    *(
        bad(of, KEY, key(**{name: text}), "the key contains U+")
        for of in FILES
        for name in ("group1", "subject1", "sort", "act")
        for text in (NUL, HALF, WIDTHLESS)
    ),
    *(
        bad(of, KEY, key(**{name: "x"}), "expected the attribute twice")
        for of in FILES
        for name in ("act", "negated")
    ),
    *(
        bad(
            of,
            KEY,
            key(**{name: "Eve"}),
            "with its subjects swapped, 0 times (so 2 of 2 swap groups are malformed)",
        )
        for of in FILES
        for name in ("subject1", "subject2")
    ),
    *(bad(of, KEY, key(sort="another"), "with its subjects swapped, 0 times") for of in FILES),
    bad(
        "spans",
        KEY,
        key(negated="did 0|x"),
        "9 parts in the key; expected 8: cluster1|cluster2|subject1|subject2",
    ),
    bad("spans", KEY, "", "1 parts in the key; expected 8"),
    bad("spans", KEY, "|" * 7, "template '' in the key"),
]
ENTRIES = [
    *(
        bad(of, at, GONE, f"lacks {at.rpartition('.')[2]}; expected the keys")
        for of in FILES
        for at in ("q0", "q1.ans0", "q1.pred", "q0.question", "q0.ans1.text", "q1.ans0.start")
    ),
    *(
        bad(of, "q1", value, "expected an object")
        for of in FILES
        for value in (None, True, [], "x", NUL, 5, -1)
    ),
    *(bad("spans", "q0.ans0", value, ANSWER) for value in (None, True, [], "x", HALF, 2**80)),
    *(bad("spans", "q1", value, OBJECT) for value in (HALF, WIDTHLESS, float("inf"))),
    *(
        bad(of, "context", value, "context is ")
        for of in ("source", "spans")
        for value in (None, 5, True, [], {})
    ),
    *(
        bad(of, "q0.question", value, "q0.question is ")
        for of in FILES
        for value in (None, 5, True, [], {})
    ),
    *(
        bad(of, at, text, f"{at} contains U+")
        for of in ("source", "spans")
        for at in ("context", "q0.question", "q1.question")
        for text in (NUL, HALF, WIDTHLESS)
    ),
    *(
        bad("masks", "q0.question", text, "q0.question contains U+")
        for text in (NUL, HALF, WIDTHLESS)
    ),
    *(
        bad("spans", at, value, f"{at} is ")
        for at in ("q0.pred", "q1.pred")
        for value in (None, 5, [], False)
    ),
    *(bad("spans", at, HALF, f"{at} contains half a character") for at in ("q0.pred", "q1.pred")),
    bad("spans", "", swap('"context"', '"\\ud800"'), "has '\\ud800'"),
    bad("spans", "q0.ans1.score", 0.5, "q0.ans1 has score; expected the keys end, start, text"),
    bad("spans", "q2", {}, "the entry has q2"),
]
LIES = [
    *(
        bad(
            of,
            "q1.ans0.text",
            "Ann",
            "q0.ans0.text is 'Bea', q1.ans0.text is 'Ann'; expected the same subject",
        )
        for of in FILES
    ),
    *(
        bad(of, "q0.ans1.text", text, "expected the same subject")
        for of in FILES
        for text in ("Bea", "Carl", "", NUL)
    ),
    bad("source", "q0.pred", "Bea", "q0 has an answer; expected pred, start and end"),
    bad("source", "q1.ans0.end", 0.5, "q1 has an answer"),
    bad(
        "source",
        "q0.ans0.start",
        0.5,
        "an entry of output.json of question answering; expected an entry of",
    ),
    bad(
        "masks",
        "context",
        "Bea met Ann.",
        "an entry of output.json of question answering; expected an entry of",
    ),
    bad("masks", "q1.question", "Who", "have no context in common; expected a sentence"),
    bad("masks", "q0.ans0.start", 0.25, "start and end of an answer differ in q0"),
    bad("spans", "context", "Nobody met anybody.", "are not both in 'Nobody met anybody.'"),
    bad("spans", "context", "", "are not both in ''"),
    *(
        bad("spans", at, value, "for start or end; expected a probability, such as 0.25")
        for at in ("q0.ans0.start", "q1.ans1.end")
        for value in (1.5, -0.1, float("nan"), float("inf"), "0.5", None, True, [], {}, 2**80)
    ),
    *(
        bad("masks", "q1.ans1.end", value, "for start or end")
        for value in (2, -1, "x", None, float("nan"))
    ),
    *(
        bad("spans", "line", value, "expected the row number in source.json, from 0")
        for value in (-1, 1.5, True, None, "1", [], 2**40)
    ),
    bad("spans", "line", 0, '"line": 0 appears twice'),
]
DUMPS = [*NO_DUMP, *CUT, *KEYS, *ENTRIES, *LIES]
