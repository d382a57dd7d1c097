"""Keys of instances: digests of requests, by which answers are found again whatever else a dataset
asks.

A key depends on the texts, candidates and positions of its own row and on how many earlier rows ask
the same. It does not depend on other rows, their order, the machine, or versions of libraries. No
table of instances stores it, because digests cannot be compressed: it is computed from the row.
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
"""The approximate number of digests that are sorted in memory at once."""
STEP = np.uint64(0x9E3779B97F4A7C15)


def digest_rows(frame: pl.DataFrame) -> Digests:
    """Returns a digest of what each row asks; other columns and nulls do not count.

    The digest of a row is the sum of the digests of its columns.

    Returns:
        Shape (rows,).
    """
    digests = np.zeros(frame.height, np.uint64)
    for name in request_columns(frame.columns):
        digests += digest_column(frame[name])
    return digests


def request_keys(instances: pl.DataFrame) -> pl.Series:
    """Returns the keys of instances, in their order.

    Args:
        instances: the columns of `request_columns`, and `asked_before`.
    """
    before: Digests = instances[ASKED_BEFORE].cast(pl.UInt64).to_numpy()
    return pl.Series("key", mix_bits(digest_rows(instances) + before * STEP))


def digest_column(values: pl.Series) -> Digests:
    """Returns the digests of texts or unsigned numbers.

    The name of the column counts: the same values have other digests in another column.

    Returns:
        Shape (rows,), 0 for a null.
    """
    salt = digest_texts(pl.Series([values.name]))
    present, rows = values.drop_nulls(), values.is_not_null().to_numpy()
    digests = np.zeros(len(values), np.uint64)
    if present.dtype == pl.Categorical:
        # Each category is digested once.
        distinct, codes = present.unique(), present.to_physical().to_numpy()
        distinct_codes = distinct.to_physical().to_numpy()
        digest_of_code = np.zeros(int(codes.max(initial=0)) + 1, np.uint64)
        digest_of_code[distinct_codes] = mix_bits(digest_texts(distinct.cast(pl.String)) + salt)
        digests[rows] = digest_of_code[codes]
        return digests
    is_text = present.dtype == pl.String
    numbers = digest_texts(present) if is_text else present.cast(pl.UInt64).to_numpy()
    digests[rows] = mix_bits(numbers + salt)
    return digests


def digest_texts(texts: pl.Series) -> Digests:
    """Returns SipHash-2-4 (Aumasson & Bernstein, INDOCRYPT 2012) of texts in UTF-8, as pandas does.

    Returns:
        Shape (texts,).
    """
    digests: Digests = hash_array(texts.cast(pl.Binary).to_numpy(), categorize=False)
    return digests


def mix_bits(numbers: Digests) -> Digests:
    """Mixes the bits of numbers, so that sums of them do not collide: SplitMix64 (Steele et al.,
    OOPSLA 2014).
    """
    mixture = numbers + STEP
    mixture = (mixture ^ (mixture >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixture = (mixture ^ (mixture >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixture ^ (mixture >> np.uint64(31))


def repeated_digests(parts: Iterable[Digests], row_count: int) -> Digests:
    """Finds the digests that several rows of a table have, in constant memory.

    The digests of a large table are divided into temporary files by their first bits, 8 bytes a
    row, and then read file by file.

    Args:
        parts: the digests of the table's rows, part by part.
        row_count: the number of rows, which decides the number of files.

    Returns:
        These digests, each once, sorted.

    Raises:
        UserError: there is no room for temporary files.
    """
    bits = max(0, ceil(log2(max(1, row_count) / DIGESTS_AT_ONCE)))
    if not bits:
        return in_several_rows(np.concatenate([np.zeros(0, np.uint64), *parts]))
    with ExitStack() as held:
        held.enter_context(explain_refusal(gettempdir(), "set TMPDIR to another folder"))
        files = [held.enter_context(TemporaryFile()) for _ in range(2**bits)]
        for part in parts:
            divide_into(files, part, bits)
        return np.concatenate([in_several_rows(digests_in(file)) for file in files])


def divide_into(files: Sequence[IO[bytes]], digests: Digests, bits: int) -> None:
    """Appends digests to the files of their first bits.

    Args:
        files: 2 ** bits files.
        digests: the digests.
        bits: the number of bits; at least 1.
    """
    numbers = (digests >> np.uint64(64 - bits)).astype(np.uint16)
    digests_by_file = digests[np.argsort(numbers, kind="stable")]
    ends = np.cumsum(np.bincount(numbers, minlength=len(files)))
    for file, some in zip(files, np.split(digests_by_file, ends[:-1]), strict=True):
        file.write(some.data)


def digests_in(file: IO[bytes]) -> Digests:
    """Returns all digests that were written into a file."""
    file.seek(0)
    return np.fromfile(file, np.uint64)


def in_several_rows(digests: Digests) -> Digests:
    """Returns the digests that occur several times, each once, sorted. Sorts its argument in
    place.
    """
    digests.sort()
    return np.unique(digests[1:][digests[1:] == digests[:-1]])


class Repetitions:
    """Counts earlier rows that ask the same, part by part of a table.

    Attributes:
        again: the digests that occur several times in the table, sorted, from `repeated_digests`.
            Only these are remembered. None if they are unknown: all are remembered then.
        met: the digests so far, sorted, with repetitions.
    """

    def __init__(self, again: Digests | None = None) -> None:
        self.again = again
        self.met: Digests = np.zeros(0, np.uint64)

    def asked_before(self, digests: Digests) -> pl.Series:
        """Returns the column `asked_before` of the next rows, which then count as asked.

        Args:
            digests: shape (rows,), from `digest_rows`.
        """
        return pl.Series(ASKED_BEFORE, self._count_earlier(digests).astype(np.uint32))

    def _count_earlier(self, digests: Digests) -> Digests:
        """Returns the number of earlier rows with each digest, in this call or before.

        Remembers these rows, or with `again` only those whose digest is among them.
        """
        if self.again is None:
            return self._count_and_remember(digests)
        numbers = np.zeros(len(digests), np.uint64)
        if len(self.again):
            rows = np.flatnonzero(np.isin(digests, self.again))
            numbers[rows] = self._count_and_remember(digests[rows])
        return numbers

    def _count_and_remember(self, digests: Digests) -> Digests:
        earlier = self.met
        # A stable sort only merges two sorted runs.
        self.met = np.sort(np.concatenate([earlier, np.sort(digests)]), kind="stable")
        is_repeated = self.met[1:] == self.met[:-1]
        rows = np.flatnonzero(np.isin(digests, self.met[1:][is_repeated]))
        repetitions = digests[rows]
        start, end = (np.searchsorted(earlier, repetitions, side) for side in ("left", "right"))
        # Equal digests are consecutive in this order, so the position among them is the number of
        # earlier ones in these rows.
        order = np.argsort(repetitions, kind="stable")
        sorted_digests = repetitions[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(repetitions)) - np.searchsorted(sorted_digests, sorted_digests)
        numbers = np.zeros(len(digests), np.uint64)
        numbers[rows] = end - start + place
        return numbers
