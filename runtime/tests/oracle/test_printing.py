"""Tensors are written as text in the same way as in TensorFlow."""

import collections
import pathlib
import sys
import time
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS

VALUES: list[Any] = [
    3, [1, 2], list(range(6)), list(range(7)), np.arange(24).reshape(4, 6),
    np.arange(100).reshape(10, 10), np.arange(8).reshape(2, 2, 2), [], np.zeros((2, 0)), "a",
    ["a", 'b"c\n\t\\\x01'], [b"\xff", b"\xc3\xa9"], 1.5, np.float64(1 / 3), np.float16(0.1),
    [0.1, 1e10, 1 / 3, np.nan, np.inf, -0.0, 1e-7, 123456789.0], True, [True, False],
    np.array([200], np.uint8),
]  # fmt: skip


def test_tensors_are_formatted_alike(v1: Any) -> None:
    def formatted(v1: Any, summarize: int) -> Any:
        return [
            v1.strings.format("x = {}.", v1.constant(value), summarize=summarize)
            for value in VALUES
        ]

    compare(
        v1,
        [
            *(lambda v1, count=count: formatted(v1, count) for count in (3, 1, -1)),
            lambda v1: v1.strings.format("%a {}%a", [v1.constant(1), v1.constant("b")], "%a"),
            lambda v1: v1.strings.format("{}", []),
        ],
    )


def printed(v1: Any, target: str, file: pathlib.Path) -> str:
    """Return what `tf.print` writes to a file."""
    with v1.Graph().as_default(), v1.Session(target) as session:
        x, text = v1.constant([[1.5, 2.0]]), v1.constant("plain")
        sparse = v1.SparseTensor([[0, 1]], [7], [1, 2])
        ordered = collections.OrderedDict([("b", x), ("a", 1)])
        for inputs, options in (
            ((text,), {}),
            (("x is", x, "and", 3), {"sep": "|", "end": ";\n"}),
            (({"k": x, "l": [text, 2, "{}"]}, (x, None)), {"summarize": 1}),
            ((sparse, ordered), {"name": "mine"}),
            ((), {}),
        ):
            session.run(v1.print(*inputs, output_stream=f"file://{file}", **options))
    return file.read_text()


def test_the_same_text_is_written_to_a_file(
    v1: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    expected = printed(v1, "", tmp_path / "expected")
    assert printed(capstan, "", tmp_path / "found") == expected
    assert printed(v1, tasks.target(), tmp_path / "client") == expected


def test_text_goes_to_the_chosen_stream(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    tf = capstan
    with tf.Graph().as_default(), tf.Session() as session:
        for stream in (None, sys.stdout, tf.logging.error):
            session.run(tf.print("to", tf.constant(1), output_stream=stream))
        with pytest.raises(ValueError, match="Unsupported output stream"):
            tf.print("x", output_stream="somewhere")
    written = capsys.readouterr()
    assert (written.out, written.err.splitlines()[0]) == ("to 1\n", "to 1")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "to 1")
    ]


def test_a_timestamp_is_the_time_of_its_step(v1: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            now = tf.timestamp()
            started, first, second = time.time(), session.run(now), session.run(now)
            assert (now.dtype.name, now.shape.as_list(), first.dtype) == ("float64", [], np.float64)
            assert started <= first < second <= time.time()


def test_an_unknown_argument_is_named(v1: Any) -> None:
    for module in (capstan, v1):
        with pytest.raises(ValueError, match=r"arguments for tf.print: \{'foo': 1, 'bar': 2\}"):
            module.print("a", foo=1, bar=2)
