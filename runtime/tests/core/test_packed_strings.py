"""Packed strings are the strings of the array that they stand for."""

import itertools
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import farmhash, packed_strings
from capstan.core.packed_strings import PackedStrings

TEXTS = st.lists(st.binary(max_size=80) | st.sampled_from([b"", b"\0", b"ab\0", b"x" * 300]))


@given(TEXTS)
def test_unpacked_strings_are_the_strings_that_were_packed(texts: list[bytes]) -> None:
    packed = PackedStrings.of(texts)
    assert packed.shape == (len(texts),)
    assert packed.unpacked().dtype == packed.dtype
    assert packed.unpacked().tolist() == texts
    assert [packed.text(number) for number in range(len(packed))] == texts


@given(TEXTS, st.data())
def test_parts_of_one_memory_and_of_several_can_be_joined(
    texts: list[bytes], data: st.DataObject
) -> None:
    packed = PackedStrings.of(texts)
    cut = data.draw(st.integers(0, len(texts)))
    back, front = packed.part(cut, len(texts)), packed.part(0, cut)
    for second in (front, PackedStrings.of(texts[:cut])):
        joined = packed_strings.join([back, second])
        assert joined.unpacked().tolist() == texts[cut:] + texts[:cut]


@given(TEXTS)
def test_the_hashes_of_packed_strings_are_those_of_the_strings(texts: list[bytes]) -> None:
    packed = PackedStrings.of([b"before", *texts, b"after"]).part(1, 1 + len(texts))
    expected = np.array([farmhash.farm64(text) for text in texts], np.uint64)
    np.testing.assert_array_equal(farmhash.farm64_of_packed(packed), expected)


@given(
    st.lists(st.text("ab,; ", max_size=9).map(str.encode), min_size=1, max_size=50),
    st.sampled_from([b",", b", ", b"\0", b"\xff,", b"; ,ab"]),
)
def test_the_parts_of_all_strings_are_those_of_each(texts: list[bytes], separators: bytes) -> None:
    parts, counts = packed_strings.split(texts, separators)
    rows = [re.split(b"[" + re.escape(separators) + b"]", text) for text in texts]
    assert parts.unpacked().tolist() == list(itertools.chain.from_iterable(rows))
    assert counts.tolist() == [len(row) for row in rows]
