"""Sorted tables of bytes: encoding, decoding, damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import sstable, varint

tables = st.dictionaries(st.binary(max_size=40), st.binary(max_size=60), max_size=60)


@pytest.mark.e2e
@given(tables)
def test_a_table_is_read_as_it_was_written_but_sorted_by_key(items: dict[bytes, bytes]):
    assert list(sstable.decode(sstable.encode(items)).items()) == sorted(items.items())


def test_a_table_of_several_blocks_is_read_as_it_was_written():
    items = {b"layer/%04d/weights" % n: b"%d" % n * 100 for n in range(2000)}
    assert sstable.decode(sstable.encode(items)) == items


@pytest.mark.e2e
@given(tables, st.data())
def test_a_flipped_bit_is_detected_or_harmless(items: dict[bytes, bytes], data: st.DataObject):
    table = bytearray(sstable.encode(items))
    position = data.draw(st.integers(0, len(table) - 1))
    table[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = sstable.decode(bytes(table))
    except errors.DataLossError:
        return
    assert found == items


@pytest.mark.e2e
@given(tables, st.data())
def test_a_truncated_table_is_damaged(items: dict[bytes, bytes], data: st.DataObject):
    table = sstable.encode(items)
    end = data.draw(st.integers(0, len(table) - 1))
    with pytest.raises(errors.DataLossError):
        sstable.decode(table[:end])


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_as_damaged(data: bytes):
    with pytest.raises(errors.DataLossError):
        sstable.decode(data)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3))
def test_an_integer_is_read_as_it_was_written(value: int, rest: bytes):
    encoded = varint.encode(value)
    assert varint.decode(encoded + rest) == (value, len(encoded))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 11])
def test_a_truncated_or_overlong_integer_is_an_error(data: bytes):
    with pytest.raises(ValueError, match="integer"):
        varint.decode(data)
