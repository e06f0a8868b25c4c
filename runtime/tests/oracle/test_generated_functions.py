"""The functions of operations take the arguments of TensorFlow's, in their order."""

import inspect
from typing import Any

import pytest

import capstan as tf
from capstan.framework import opdef
from capstan.python.ops import gen_array_ops, gen_io_ops, gen_math_ops

NEWER = frozenset(
    {"bad_indices_policy", "blank_index", "explicit_paddings", "exponential_avg_factor",
     "index_type", "is_async", "metadata", "sparse_gradient", "timeout_seconds"}
)  # fmt: skip
"""The arguments that operations have got since TensorFlow 1.15."""


def names(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in NEWER]


def test_the_arguments_have_the_names_and_the_order_of_tensorflow(v1: Any) -> None:
    for row in opdef.all_rows():
        theirs = getattr(v1.raw_ops, row.name, None)
        if theirs is not None:
            assert names(getattr(tf.raw_ops, row.name)) == names(theirs), row.name


def test_attributes_may_be_given_by_position() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = gen_math_ops._sum([[1, 2], [3, 4]], 1, True)
        assert session.run(total).tolist() == [[3], [7]]
        assert gen_array_ops.squeeze([[1]], [0], "name").name == "name:0"
        assert gen_array_ops.expand_dims([1], axis=0).shape.as_list() == [1, 1]
        restored = gen_io_ops.restore_v2("model", ["x"], [""], [tf.float32])
        assert restored[0].dtype is tf.float32
        assert session.run(tf.raw_ops.Sum(input=[1, 2], axis=0)) == 3


def test_too_many_and_repeated_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        gen_math_ops.square(1.0, x=2.0)
    with pytest.raises(TypeError, match=r"at most 2 arguments \(x, name\), but got 3"):
        gen_math_ops.square(1.0, "name", 3)
