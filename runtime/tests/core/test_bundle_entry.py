"""Entries of a checkpoint's index: encoding, decoding, damage."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import bundle_entry

sizes = st.integers(0, 2**40)
extents = st.tuples(sizes, st.integers(1, 2**40) | st.just(bundle_entry.WHOLE))
entries = st.builds(
    bundle_entry.Entry,
    dtype=st.integers(1, 23),
    shape=st.lists(sizes, max_size=4).map(tuple),
    shard=st.integers(0, 99),
    offset=sizes,
    size=sizes,
    crc=st.integers(0, 2**32 - 1),
    slices=st.lists(st.lists(extents, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple),
)


@pytest.mark.e2e
@given(entries)
def test_an_entry_is_read_as_it_was_written(entry: bundle_entry.Entry):
    assert bundle_entry.Entry.decode(entry.encode()) == entry


def test_an_entry_has_tensorflows_bytes():
    entry = bundle_entry.Entry(1, (3,), offset=3, size=4, crc=7, slices=(((0, 2), (5, -1)),))
    assert entry.encode() == (
        b"\x08\x01\x12\x04\x12\x02\x08\x03\x20\x03\x28\x04\x35\x07\0\0\0"
        b"\x3a\x08\x0a\x02\x10\x02\x0a\x02\x08\x05"
    )


def test_a_slice_of_length_zero_is_not_a_full_dimension():
    entry = bundle_entry.Entry(1, (3,), slices=(((0, 0),),))
    assert bundle_entry.Entry.decode(entry.encode()) == entry


def test_an_entry_with_a_negative_offset_is_damaged():
    data = bundle_entry.Entry(1, (3,), offset=-1).encode()
    with pytest.raises(errors.DataLossError, match="negative"):
        bundle_entry.Entry.decode(data)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_read_or_refused_as_damaged(data: bytes):
    with contextlib.suppress(errors.DataLossError):
        entry = bundle_entry.Entry.decode(data)
        assert bundle_entry.Entry.decode(entry.encode()) == entry


@given(st.integers(0, 1000))
def test_a_header_keeps_the_number_of_shards(shards: int):
    assert bundle_entry.decode_header(bundle_entry.encode_header(shards)) == shards


def test_a_big_endian_checkpoint_is_refused():
    with pytest.raises(errors.UnimplementedError, match="big-endian"):
        bundle_entry.decode_header(b"\x08\x01\x10\x01")


def test_a_checkpoint_that_needs_a_newer_reader_is_refused():
    with pytest.raises(errors.DataLossError, match="newer"):
        bundle_entry.decode_header(b"\x08\x01\x1a\x04\x08\x05\x10\x03")


@given(st.lists(st.integers(-(2**62), 2**62 - 1), min_size=2, max_size=2))
def test_keys_of_slices_sort_by_their_numbers(numbers: list[int]):
    first, second = (bundle_entry.slice_key(b"v", [(n, 1)]) for n in numbers)
    assert (first < second) == (numbers[0] < numbers[1])
