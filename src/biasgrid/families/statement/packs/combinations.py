"""Which values go together: combinations are numbers, of which the last parameter varies fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.statement.packs.constraints import Reference, Test
from biasgrid.families.statement.packs.pack import Pack, Template

SLICE = 2**18


def places_of(pack: Pack, template: Template, combinations: IntArray) -> list[IntArray]:
    """Returns for each parameter the place of its value in its domain, each of shape (combinations,)."""
    places, rest = [], combinations
    for values in reversed(pack.values_of(template)):
        places.append(rest % len(values))
        rest = rest // len(values)
    return places[::-1]


def allowed(pack: Pack, template: Template) -> IntArray:
    """Returns the combinations of a template's values that keep to its constraint."""
    count = pack.combinations(template)
    if not template.constraint:
        return np.arange(count)
    return np.concatenate([np.zeros(0, np.int64), *slices_allowed(pack, template, count)])


def slices_allowed(pack: Pack, template: Template, count: int) -> Iterator[IntArray]:
    """Yields what `allowed` returns, slice by slice: few of very many may go together."""
    for start in range(0, count, SLICE):
        combinations = np.arange(start, min(start + SLICE, count))
        places = places_of(pack, template, combinations)
        holds = np.ones(len(combinations), dtype=np.bool_)
        for tests in template.constraint:
            holds &= np.any([passed(pack, template, test, places) for test in tests], axis=0)
        yield combinations[holds]


def passed(pack: Pack, template: Template, test: Test, places: Sequence[IntArray]) -> BoolArray:
    """Says for which combinations a test holds."""
    same: BoolArray
    left, place = attributes(pack, template, test.left), places[test.left.place]
    if isinstance(test.right, Reference):
        right = attributes(pack, template, test.right)
        code = {text: number for number, text in enumerate(dict.fromkeys([*left, *right]))}
        of_left, of_right = (np.array([code[text] for text in texts]) for texts in (left, right))
        same = of_left[place] == of_right[places[test.right.place]]
    else:
        same = np.array([text in test.right for text in left], dtype=np.bool_)[place]
    return same if test.equal else ~same


def attributes(pack: Pack, template: Template, reference: Reference) -> list[str]:
    """Returns the names or classes of the values of a parameter."""
    return [getattr(value, reference.attribute) for value in pack.values_of(template)[reference.place]]
