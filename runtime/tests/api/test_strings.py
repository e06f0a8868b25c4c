"""`tf.strings`: the functions whose names differ from those in `tf`."""

from typing import Any

import pytest

import capstan as tf


@pytest.mark.parametrize(
    ("strings", "options", "message"),
    [
        ("a b", {}, "Pass \\[input\\] to split one string"),
        (["a b"], {"result_type": "Tensor"}, "must be 'RaggedTensor' or 'SparseTensor'"),
        (["a b"], {"source": ["a"]}, "Cannot specify both 'source' and 'input'"),
    ],
)
def test_a_split_that_cannot_be_made_is_refused(strings: Any, options: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.strings.split(strings, **options)


def test_a_split_has_one_axis_more_than_the_strings() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        parts = session.run(tf.strings.split([["a b", ""], ["c", " d e f"]]))
    assert parts.values.tolist() == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert parts.indices.tolist() == [
        [0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2]
    ]  # fmt: skip
    assert parts.dense_shape.tolist() == [2, 2, 3]
