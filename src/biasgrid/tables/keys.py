"""Keys of instances: digests of requests, by which they are found again whatever else a dataset
asks.

A key depends on the texts, candidates and positions of its own row and on how often the rows before
have asked the same: not on the other rows, their order, the machine, or the versions of libraries.
No table of instances stores it, as digests cannot be compressed: each row has all that its key is
made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from math import ceil, log2
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np
import numpy.typing as npt
import polars as pl
from pandas.util import hash_array

from biasgrid.base.files import explain_refusal
from biasgrid.tables.instances import ASKED_BEFORE, request_columns

Digests = npt.NDArray[np.uint64]
DIGESTS_AT_ONCE = 2**23
"""How many digests are looked at together, about."""
STEP = np.uint64(0x9E3779B97F4A7C15)


def digest_rows(frame: pl.DataFrame) -> Digests:
    """Digests what each row asks; other columns do not count, nor do nulls.

    The digests of columns add up: a row that is made of parts has the sum of their digests.

    Returns:
        Shape (rows,).
    """
    digests = np.zeros(frame.height, np.uint64)
    for name in request_columns(frame.columns):
        digests += digest_column(frame[name])
    return digests


def request_keys(instances: pl.DataFrame) -> pl.Series:
    """Returns the keys of instances, whatever other instances their table has.

    Args:
        instances: what each asks, and `asked_before`.
    """
    before: Digests = instances[ASKED_BEFORE].cast(pl.UInt64).to_numpy()
    return pl.Series("key", mix_bits(digest_rows(instances) + before * STEP))


def digest_column(values: pl.Series) -> Digests:
    """Digests texts or numbers.

    The same values have other digests in a column of another name.

    Returns:
        Shape (rows,), 0 for a null.
    """
    salt = digest_texts(pl.Series([values.name]))
    known, rows = values.drop_nulls(), values.is_not_null().to_numpy()
    digests = np.zeros(len(values), np.uint64)
    if known.dtype == pl.Categorical:
        # Each category is digested once.
        distinct, codes = known.unique(), known.to_physical().to_numpy()
        distinct_codes = distinct.to_physical().to_numpy()
        digest_of_code = np.zeros(int(codes.max(initial=0)) + 1, np.uint64)
        digest_of_code[distinct_codes] = mix_bits(digest_texts(distinct.cast(pl.String)) + salt)
        digests[rows] = digest_of_code[codes]
        return digests
    is_text = known.dtype == pl.String
    numbers = digest_texts(known) if is_text else known.cast(pl.UInt64).to_numpy()
    digests[rows] = mix_bits(numbers + salt)
    return digests


def digest_texts(texts: pl.Series) -> Digests:
    """Digests texts: SipHash-2-4 (Aumasson & Bernstein, INDOCRYPT 2012) of their UTF-8, in pandas'
    way.

    Returns:
        Shape (texts,).
    """
    digests: Digests = hash_array(texts.cast(pl.Binary).to_numpy(), categorize=False)
    return digests


def mix_bits(numbers: Digests) -> Digests:
    """Mixes the bits of numbers, so that like ones become unlike: SplitMix64 (Steele et al., OOPSLA
    2014).
    """
    mixture = numbers + STEP
    mixture = (mixture ^ (mixture >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixture = (mixture ^ (mixture >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixture ^ (mixture >> np.uint64(31))


def repeated_digests(parts: Iterable[Digests], count: int) -> Digests:
    """Finds the digests that several rows of a table have, in little memory however many rows there
    are.

    Those of a large table are sorted into temporary files by their first bits, 8 bytes a row, and
    looked at file by file.

    Args:
        parts: the digests of the table's rows, part by part.
        count: how many rows there are.

    Returns:
        These digests, each once, sorted.

    Raises:
        UserError: there is no room for temporary files.
    """
    bits = max(0, ceil(log2(max(1, count) / DIGESTS_AT_ONCE)))
    if not bits:
        return in_several_rows(np.concatenate([np.zeros(0, np.uint64), *parts]))
    with ExitStack() as held:
        held.enter_context(explain_refusal(gettempdir(), "set TMPDIR to another folder"))
        files = [held.enter_context(TemporaryFile()) for _ in range(2**bits)]
        for part in parts:
            divide_into(files, part, bits)
        return np.concatenate([in_several_rows(digests_in(file)) for file in files])


def divide_into(files: Sequence[IO[bytes]], digests: Digests, bits: int) -> None:
    """Writes digests behind the others in the files of their first bits."""
    numbers = (digests >> np.uint64(64 - bits)).astype(np.uint16)
    ordered = digests[np.argsort(numbers, kind="stable")]
    ends = np.cumsum(np.bincount(numbers, minlength=len(files)))
    for file, some in zip(files, np.split(ordered, ends[:-1]), strict=True):
        file.write(some.data)


def digests_in(file: IO[bytes]) -> Digests:
    """Returns all digests that were written into a file."""
    file.seek(0)
    return np.fromfile(file, np.uint64)


def in_several_rows(digests: Digests) -> Digests:
    """Returns the digests that are there several times, each once, sorted; sorts what it is
    given.
    """
    digests.sort()
    return np.unique(digests[1:][digests[1:] == digests[:-1]])


class Repetitions:
    """Numbers what is asked again, part by part of a table.

    Attributes:
        again: the digests that are met several times, sorted, where they are known before: others
            are not remembered.
        met: the digests so far, sorted.
    """

    def __init__(self, again: Digests | None = None) -> None:
        self.again = again
        self.met: Digests = np.zeros(0, np.uint64)

    def asked_before(self, digests: Digests) -> pl.Series:
        """Returns the column `asked_before` of further rows.

        Args:
            digests: shape (rows,), from `digest_rows`.
        """
        return pl.Series(ASKED_BEFORE, self.number(digests).astype(np.uint32))

    def number(self, digests: Digests) -> Digests:
        """Returns how often the digest of each row was met before it, in these rows or earlier
        ones.
        """
        if self.again is None:
            return self._number(digests)
        numbers = np.zeros(len(digests), np.uint64)
        if len(self.again):
            rows = np.flatnonzero(np.isin(digests, self.again))
            numbers[rows] = self._number(digests[rows])
        return numbers

    def _number(self, digests: Digests) -> Digests:
        """Returns how often each digest was met before it; all digests are remembered."""
        earlier = self.met
        # Sorting what is sorted in two runs only merges them.
        self.met = np.sort(np.concatenate([earlier, np.sort(digests)]), kind="stable")
        is_repeated = self.met[1:] == self.met[:-1]
        rows = np.flatnonzero(np.isin(digests, self.met[1:][is_repeated]))
        repeated = digests[rows]
        first, end = (np.searchsorted(earlier, repeated, side) for side in ("left", "right"))
        # Rows with one digest stand together in this order, so each one's place among them counts.
        order = np.argsort(repeated, kind="stable")
        ordered = repeated[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(repeated)) - np.searchsorted(ordered, ordered)
        numbers = np.zeros(len(digests), np.uint64)
        numbers[rows] = end - first + place
        return numbers
