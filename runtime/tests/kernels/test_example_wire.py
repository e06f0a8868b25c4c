"""Examples are decoded from their bytes as the protobuf library decodes them, or not at all."""

import itertools
from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
import pytest
from google.protobuf import message
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import dtypes, example_messages
from capstan.hardware import cpu_loops
from capstan.kernels import example_columns, example_wire, wire

TYPES = {"floats": dtypes.float32, "ints": dtypes.int64, "texts": dtypes.string}
KINDS = {"floats": "float_list", "ints": "int64_list", "texts": "bytes_list"}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "floats": st.floats(width=32, allow_nan=False),
    "ints": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 200),
    "texts": st.binary(max_size=200),
}
EXAMPLES = st.fixed_dictionaries(
    {"also": st.lists(st.integers(0, 9), max_size=2)},
    optional={key: st.lists(each, max_size=4) for key, each in VALUES.items()},
)


def serialized(features: Mapping[str, Any]) -> bytes:
    example = example_messages.Example()
    for key, values in features.items():
        kind = getattr(example.features.feature[key], KINDS.get(key, "int64_list"))
        kind.SetInParent()
        kind.value.extend(values)
    text: bytes = example.SerializeToString()
    return text


def entry(feature: bytes) -> bytes:
    """Return an entry `ints` of the map of features."""
    content = b"\x0a\x04ints\x12" + bytes([len(feature)]) + feature
    return b"\x0a" + bytes([len(content)]) + content


def columns(texts: list[bytes], keys: list[str], types: list[Any]) -> list[example_columns.Column]:
    """Return the columns that NumPy finds. The compiled loops find the same.

    Raises:
        UnusualError: NumPy refuses the texts.
    """
    found = example_wire.columns(texts, keys, types)
    for one, other in zip(found, looped(texts, keys, types), strict=True):
        np.testing.assert_array_equal(one.is_there, other.is_there)
        np.testing.assert_array_equal(one.counts, other.counts)
        assert one.values.dtype == other.values.dtype
        assert repr(one.values.tolist()) == repr(other.values.tolist())
    return found


def looped(texts: list[bytes], keys: list[str], types: list[Any]) -> list[example_columns.Column]:
    with mock.patch.object(cpu_loops.Loop, "after", lambda loop, size: loop._call):
        return example_wire.columns(texts, keys, types, (), example_wire.Loops())


def check(batch: list[dict[str, Any]]) -> None:
    """Check that a batch is decoded to the values of its features."""
    texts = [serialized(features) for features in batch]
    found = columns(texts, list(TYPES), list(TYPES.values()))
    for column, (key, dtype) in zip(found, TYPES.items(), strict=True):
        expected = example_columns.column_of(dtype, [features.get(key) for features in batch])
        np.testing.assert_array_equal(column.is_there, expected.is_there)
        np.testing.assert_array_equal(column.counts, expected.counts)
        assert column.values.dtype == expected.values.dtype
        assert column.values.tolist() == expected.values.tolist()


@given(st.lists(EXAMPLES, min_size=1, max_size=12))
def test_features_are_those_of_the_library(batch: list[dict[str, Any]]) -> None:
    check(batch)


@given(st.lists(EXAMPLES, min_size=1, max_size=3), st.integers(33, 40))
def test_features_of_many_examples_are_those_of_the_library(
    batch: list[dict[str, Any]], count: int
) -> None:
    check([batch[at % len(batch)] for at in range(count)])


@pytest.mark.parametrize(
    "value", [b"x\n\x03\n\x01k\x12", b"\n\x80\x01\n\x00\x12", b"\n\n\n\n", b""]
)
def test_values_that_look_like_features_are_values(value: bytes) -> None:
    check([{"texts": [value, b"a"], "ints": [10, 10]}] * 40)
    check([{"texts": [b"a" * (at % 3)] * 2, "floats": [0.5]} for at in range(39)])
    check([{"texts": [b"a"] * (at != 20), "ints": [3]} for at in range(40)])


def test_keys_that_differ_late_or_in_their_length_are_told_apart() -> None:
    keys = ["a long name 1", "a long name 2", "a", "a\0", "n" * 130]
    texts = [serialized({key: [at] for at, key in enumerate(keys)})] * 40
    other = [serialized({key: [at] for at, key in enumerate(keys[:-1])})] * 40
    for some in (texts, other, [*texts, *other]):
        found = columns(some, keys, [dtypes.int64] * len(keys))
        for at, column in enumerate(found):
            assert set(column.values.tolist()) <= {at}
            assert sum(column.counts) == sum(column.is_there) == len(column.values)
            assert sum(column.is_there) == (len(some) if at < 4 else some.count(texts[0]))


@pytest.mark.parametrize("read", [example_wire.columns, looped], ids=["NumPy", "compiled"])
@given(st.lists(EXAMPLES, min_size=1, max_size=3), st.data())
def test_damaged_examples_are_refused_or_decoded_as_the_library_does(
    read: Any, batch: list[dict[str, Any]], data: st.DataObject
) -> None:
    texts = [serialized(features) for features in batch] * data.draw(st.sampled_from([1, 33]))
    damaged = bytearray(texts[0])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        damaged[place : place + 1] = data.draw(st.binary(max_size=2))
    texts[0] = bytes(damaged)
    try:
        found = read(texts, list(TYPES), list(TYPES.values()))
    except wire.UnusualError:
        return
    try:
        examples = [example_messages.Example.FromString(text) for text in texts]
    except message.DecodeError:
        # The library also reads features that nobody asked for. TensorFlow does not.
        return
    for column, (key, kind) in zip(found, KINDS.items(), strict=True):
        expected = [getattr(each.features.feature[key], kind).value for each in examples]
        assert repr(column.values.tolist()) == repr(list(itertools.chain(*expected)))


@pytest.mark.parametrize(
    "text",
    [
        b"\x0a",
        b"\x0a\x02\x0a\x00",
        b"\x0a\x00\x0a\x00",
        serialized({"ints": [1]}) * 2,
        b"\x0a\x0c\x0a\x0a\x0a\x04ints\x12\x00\x12\x00",
        b"\x0a\x1c" + entry(b"\x1a\x06\x0a\x04\x01\x02\x03\x04") + entry(b""),
    ],
    ids=["cut", "no key", "two fields", "two messages", "a second value", "two entries"],
)
def test_an_unusual_example_is_left_to_the_library(text: bytes) -> None:
    for read in (example_wire.columns, looped):
        with pytest.raises(wire.UnusualError):
            read([text], list(TYPES), list(TYPES.values()))


@pytest.mark.parametrize("keys", [["ints", "ints"], [""]])
def test_unusual_keys_are_left_to_the_library(keys: list[str]) -> None:
    with pytest.raises(wire.UnusualError):
        columns([serialized({})], keys, [dtypes.int64] * len(keys))


def test_a_feature_of_another_type_is_left_to_the_library() -> None:
    for read in (example_wire.columns, looped):
        with pytest.raises(wire.UnusualError):
            read([serialized({"ints": [1]})], ["ints"], [dtypes.float32])


@pytest.mark.parametrize("first", [b"\x1a\x03\x0a\x01\x05", b""], ids=["a value", "no value"])
def test_a_feature_that_occurs_twice_is_left_to_the_library(first: bytes) -> None:
    features = entry(first) + entry(b"\x1a\x03\x0a\x01\x07")
    texts = [b"\x0a" + bytes([len(features)]) + features] * 2
    for read in (example_wire.columns, looped):
        with pytest.raises(wire.UnusualError):
            read(texts, list(TYPES), list(TYPES.values()))


def test_many_long_lists_of_strings_are_left_to_the_library() -> None:
    texts = [serialized({"texts": [b"a"] * 40})] * 40
    with pytest.raises(wire.UnusualError):
        columns(texts, ["texts"], [dtypes.string])


def test_long_lists_among_many_short_ones_are_decoded() -> None:
    numbers = [2**40, -1, 5] * 3000
    batch = [{"texts": [b"a"], "ints": [1]}] * 50
    batch += [{"texts": [b"%d" % at for at in range(300)], "ints": numbers}]
    texts = [serialized(features) for features in batch]
    for some in (texts, texts[-1:]):
        strings, ints = columns(some, ["texts", "ints"], [dtypes.string, dtypes.int64])
        assert strings.counts.tolist()[-1] == 300
        assert strings.values.tolist()[-300:] == batch[-1]["texts"]
        assert ints.values.tolist()[-9000:] == numbers
    (floats,) = columns([serialized({"floats": [0.5, 2] * 1000})] * 2, ["floats"], [dtypes.float32])
    assert floats.values.tolist() == [0.5, 2] * 2000
