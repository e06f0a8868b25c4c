"""Kernels that match strings and format values."""

import re
from typing import Any

import interpreter
import numpy as np
import pytest

from capstan import errors
from capstan.framework.raw import raw


def run(tensor: Any) -> Any:
    return interpreter.Interpreter().run(tensor)


def test_a_pattern_must_match_the_full_string() -> None:
    words = np.array([[b"s3://a", b"xs3://a"], [b"", b"s3://"]], object)
    found = run(raw.StaticRegexFullMatch(words, pattern=b"^s3://.*"))
    assert found.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(
    "pattern, reason",
    [
        (b"(", "missing ): ("),
        (b"(a)\\1", "invalid escape sequence: \\1"),
        (b"(?=a)", "invalid perl operator: (?="),
        (b"a{1001}", "invalid repetition size: {1001}"),
    ],
)
def test_a_pattern_that_re2_does_not_know_is_refused(pattern: bytes, reason: str) -> None:
    message = re.escape(f"Invalid pattern: {pattern.decode()}, error: {reason}")
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run(raw.StaticRegexFullMatch(np.array(b"a", object), pattern=pattern))


def test_a_pattern_that_needs_exponential_backtracking_in_re_is_matched() -> None:
    words = np.array([b"a" * 100_000, b"a" * 100_000 + b"b"], object)
    found = run(raw.StaticRegexFullMatch(words, pattern=b"(a+)+$"))
    assert found.tolist() == [True, False]


@pytest.mark.parametrize(
    "value, attrs, text",
    [
        (np.float32(1.5), {}, b"1.500000"),
        (np.float64(-2), {"precision": 2, "width": 8, "fill": b"0"}, b"-0002.00"),
        (np.float32(1.5), {"scientific": True, "precision": 1}, b"1.5e+00"),
        (np.float32(0.5), {"shortest": True}, b"0.5"),
        (np.float64(np.inf), {}, b"inf"),
        (np.int64(7), {"width": 3, "fill": b"+"}, b" +7"),
        (np.uint8(200), {}, b"200"),
        (np.bool_(True), {}, b"true"),
        (np.bool_(True), {"width": 6}, b"true"),
        (np.float32(-np.inf), {"width": 6, "fill": b"0"}, b"  -inf"),
        (np.complex64(complex(1, np.nan)), {"width": 4, "fill": b"0"}, b"(1.000000, nan)"),
        (np.array(b"x", object), {"width": 3, "fill": b"-"}, b"x  "),
    ],
)
def test_values_are_formatted_as_by_printf(value: Any, attrs: Any, text: bytes) -> None:
    assert run(raw.AsString(value, **attrs)).item() == text


def test_contradictory_flags_are_refused() -> None:
    for value, attrs in (
        (np.float32(1), {"scientific": True, "shortest": True}),
        (np.int32(1), {"precision": 2}),
        (np.int32(1), {"fill": b"x"}),
    ):
        with pytest.raises(errors.InvalidArgumentError):
            run(raw.AsString(value, **attrs))


@pytest.mark.parametrize("count", [0, 1, 32, 33, 300])
def test_many_strings_are_split_as_single_strings_are(count: int) -> None:
    draw = np.random.default_rng(count)
    letters = np.array([b"a", b"b", b",", b";", b" ", b"\n", b""], object)
    texts = np.array([b"".join(row) for row in draw.choice(letters, (count, 6))], object)
    for separators, skips_empty in ((b",", True), (b",", False), (b",; ", True), (b",; ", False)):
        rows = [re.split(b"[" + separators + b"]", text) if text else [] for text in texts]
        rows = [[part for part in row if part or not skips_empty] for row in rows]
        split = raw.StringSplit(texts, np.array(separators, object), skip_empty=skips_empty)
        assert_sparse(split, rows)
    for separator, most in ((b",", -1), (b"", -1), (b", ", -1), (b",", 1)):
        rows = [text.split(separator or None, most) for text in texts]
        assert_sparse(raw.StringSplitV2(texts, np.array(separator, object), maxsplit=most), rows)


@pytest.mark.parametrize(
    "text, most, parts",
    [
        (b" a  b c ", 1, [b"a", b"b c "]),
        (b" a ", 1, [b"a", b""]),
        (b"a", 2, [b"a"]),
        (b"", 1, []),
        (b" a ", 0, [b" a "]),
    ],
)
def test_what_follows_the_last_separation_is_one_part(
    text: bytes, most: int, parts: list[bytes]
) -> None:
    """As in TensorFlow, which differs from Python if nothing follows."""
    texts, blank = np.array([text], object), np.array(b"", object)
    assert_sparse(raw.StringSplitV2(texts, blank, maxsplit=most), [parts])


def assert_sparse(split: Any, rows: list[list[bytes]]) -> None:
    places, values, shape = run(list(split))
    assert values.tolist() == [part for row in rows for part in row]
    wanted = [[at, place] for at, row in enumerate(rows) for place in range(len(row))]
    assert places.reshape(-1, 2).tolist() == wanted
    assert shape.tolist() == [len(rows), max(map(len, rows), default=0)]
