"""Frames as bytes: written frames are read back, and any other input is an error."""

import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from capstan import errors
from capstan.transport import api, assembly, frames

NUMBERS = [
    *(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *map(np.dtype, ("float16", "float32", "float64", "complex64", "complex128", "bool")),
]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7)


def numbers() -> st.SearchStrategy[Any]:
    return st.sampled_from(NUMBERS).flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))


def bfloats() -> st.SearchStrategy[Any]:
    return hnp.arrays(np.float32, SHAPES).map(lambda array: array.astype(ml_dtypes.bfloat16))


def words() -> st.SearchStrategy[Any]:
    return hnp.arrays(np.dtype(object), SHAPES, elements=st.binary(max_size=300))


def large() -> st.SearchStrategy[Any]:
    return st.integers(1, 40_000).map(lambda size: np.arange(size, dtype=np.int32))


def values() -> st.SearchStrategy[list[Any]]:
    array_values = st.one_of(numbers(), bfloats(), words(), large())
    backwards = array_values.map(lambda array: array[..., ::-1] if array.ndim else array)
    return st.lists(st.one_of(array_values, backwards, array_values.map(np.transpose)), max_size=6)


def any_frame() -> st.SearchStrategy[api.Frame]:
    return st.builds(
        api.Frame,
        st.sampled_from(api.Kind),
        st.integers(0, 2**64 - 1),
        st.integers(0, 2**32 - 1),
        values(),
    )


def read(
    data: bytes, pieces: list[int], reader: assembly.Assembler | None = None
) -> list[api.Frame]:
    """Read `data` in pieces of the given sizes, and the rest in one piece."""
    reader = reader or assembly.Assembler(1 << 20)
    found: list[api.Frame] = []
    for size in [*pieces, len(data)]:
        piece, data = data[:size], data[size:]
        while piece:
            target = reader.target()
            count = min(len(target), len(piece))
            target[:count] = piece[:count]
            reader.filled(count)
            piece = piece[count:]
            while (frame := reader.take(fresh=True)) is not None:
                found.append(frame)
    return found


def as_comparable(frame: api.Frame) -> Any:
    return (
        frame.kind,
        frame.step,
        frame.subject,
        [(value.dtype, value.shape, value.tolist()) for value in frame.values],
    )


def encode(frame: api.Frame) -> bytes:
    return b"".join(frames.Encoder(1 << 20).encode(frame))


@pytest.mark.e2e
@given(sent=st.lists(any_frame(), max_size=5), pieces=st.lists(st.integers(1, 200), max_size=50))
def test_frames_are_read_as_they_were_written_however_they_arrive(
    sent: list[api.Frame], pieces: list[int]
) -> None:
    encoder = frames.Encoder(1 << 20)
    data = b"".join(part for frame in sent for part in encoder.encode(frame))
    # Compare with repr, because NaN does not equal itself.
    assert repr(list(map(as_comparable, read(data, pieces)))) == repr(
        list(map(as_comparable, sent))
    )


@pytest.mark.e2e
@given(sent=any_frame(), cut=st.integers(1, 10_000))
def test_an_incomplete_frame_is_not_returned(sent: api.Frame, cut: int) -> None:
    data = encode(sent)
    assert read(data[: max(0, len(data) - cut)], []) == []


@pytest.mark.e2e
@given(sent=any_frame(), at=st.integers(0, 200), garbage=st.binary(min_size=1, max_size=12))
def test_damaged_bytes_give_a_frame_or_a_documented_error(
    sent: api.Frame, at: int, garbage: bytes
) -> None:
    data = bytearray(encode(sent))
    data[at : at + len(garbage)] = garbage
    try:
        read(bytes(data), [])
    except (errors.DataLossError, errors.ResourceExhaustedError) as error:
        assert "frame" in str(error)  # noqa: PT017 - most damage to a payload goes unnoticed


@given(st.binary(min_size=32, max_size=400))
def test_bytes_of_another_protocol_are_refused(data: bytes) -> None:
    with pytest.raises(errors.DataLossError, match="is the peer a Capstan task"):
        read(b"GET / HTTP/1.1\r\n" + data, [])


def header(**changed: int) -> bytes:
    fields = {"magic": frames.MAGIC, "kind": 3, "step": 1, "subject": 1, "rows": 0}
    fields |= {"table": 0, "payload": 0} | changed
    return frames.HEADER.pack(*fields.values())


@pytest.mark.parametrize(
    "changed",
    [{"table": (1 << 20) + 1, "rows": 1}, {"payload": (1 << 20) + 1}, {"table": 2**32 - 1}],
)
def test_a_header_with_sizes_above_the_limits_is_refused_at_once(changed: dict[str, int]) -> None:
    with pytest.raises(errors.ResourceExhaustedError, match="the limits are 1048576 and 1048576"):
        read(header(**changed), [])


def row(place: int, dtype: int, size: int, *shape: int) -> bytes:
    return struct.pack(f"<IHHQ{len(shape)}Q", place, dtype, len(shape), size, *shape)


@pytest.mark.parametrize(
    "rows, payload, words",
    [
        ([row(1, 1, 4)], 4, "says it is row 1"),
        ([row(0, 1, 8, 3)], 8, "8 bytes are not"),
        ([row(0, 1, 0, 2**62, 2**62)], 0, "0 bytes are not"),
        ([row(0, 1, 0, 2**63, 0)], 0, "it holds an invalid value"),
        ([row(0, 7, 4, 2**40)], 4, "do not fit"),
        ([row(0, 21, 8)], 8, "frames cannot carry variant"),
        ([row(0, 101, 4)], 4, "frames cannot carry float32_ref"),
        ([row(0, 99, 4)], 4, "no tensor has dtype 99"),
        ([row(0, 1, 4)], 5, "its header says"),
        ([row(0, 1, 4), row(1, 1, 4)], 8, "its header says"),
        ([row(0, 1, 4, *[1] * 65)], 4, "of rank 65"),
        ([row(0, 1, 4)[:-1] + b"\x01"], 4, "4 bytes are not|72057594037927940 bytes are not"),
    ],
)
def test_an_inconsistent_table_is_refused(rows: list[bytes], payload: int, words: str) -> None:
    table = b"".join(rows)
    data = header(rows=len(rows), table=len(table), payload=payload) + table + bytes(payload)
    with pytest.raises(errors.DataLossError, match=words):
        read(data, [])


@pytest.mark.parametrize(
    "packed, words",
    [
        (b"\x05ab\0", "do not fill"),
        (b"\x00abc", "do not fill"),
        (b"\xff" * 11, "more than ten bytes"),
        (b"\x80\x80", "ends within an integer"),
    ],
)
def test_strings_that_do_not_fill_their_bytes_are_refused(packed: bytes, words: str) -> None:
    table = row(0, 7, len(packed), 1)
    data = header(rows=1, table=len(table), payload=len(packed)) + table + packed
    with pytest.raises(errors.DataLossError, match=words):
        read(data, [])


def test_values_are_aligned_to_64_bytes_in_memory() -> None:
    sent = api.Frame(api.Kind.LEG, 1, 1, [np.arange(size) for size in (1, 3, 1000, 7)])
    (frame,) = read(encode(sent), [])
    assert all(value.ctypes.data % frames.ALIGNMENT == 0 for value in frame.values)


def test_the_memory_of_a_message_is_reused_for_the_next_similar_one() -> None:
    reader = assembly.Assembler()

    def receive(size: int, subject: int = 1) -> Any:
        data = encode(api.Frame(api.Kind.LEG, 1, subject, [np.zeros(size)]))
        target = reader.target()
        target[: len(data)] = data
        reader.filled(len(data))
        frame = reader.take()
        assert frame is not None
        return frame.values[0]

    first = receive(1000)
    assert receive(1000) is first
    assert np.shares_memory(receive(900), first)
    assert not np.shares_memory(receive(1000, subject=2), first)
    assert not np.shares_memory(receive(1100), first)


def test_the_bytes_are_those_of_the_specification() -> None:
    sent = api.Frame(api.Kind.DONE, 5, 9, [np.float32(1), np.array([[2, 3]], np.int16)])
    assert encode(sent) == (
        struct.pack("<HHQIIIQ", 0xC4F7, 4, 5, 9, 2, 48, 68)
        + struct.pack("<IHHQ", 0, 1, 0, 4)
        + struct.pack("<IHHQQQ", 1, 5, 2, 4, 1, 2)
        + struct.pack("<f60xhh", 1.0, 2, 3)
    )
