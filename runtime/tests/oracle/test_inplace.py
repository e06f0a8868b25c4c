"""Tensors with changed rows are those of TensorFlow.

Each program runs in TensorFlow, by TensorFlow's client on our servers, and with our own API.
"""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.python.ops import inplace_ops as own_ops

pytestmark = genuine.MARKS

TABLE = np.arange(12).reshape(4, 3) % 7
ROWS = np.array([[9, 8, 7], [5, 5, 5], [1, 2, 3]])


def functions(v1: Any) -> Any:
    """Return the module of the functions that belongs to a module `tf`."""
    if v1 is capstan:
        return own_ops
    from tensorflow.python.ops import inplace_ops

    return inplace_ops


def changes(v1: Any) -> list[Any]:
    module, fetches = functions(v1), []
    for kind in ("float32", "float16", "bfloat16", "int32", "int64", "uint8", "complex64"):
        table, rows = (v1.cast(v1.constant(each), kind) for each in (TABLE, ROWS))
        for name in ("update", "add", "sub"):
            for prefix in ("inplace_", "alias_inplace_"):
                function = getattr(module, prefix + name)
                # TensorFlow changes the argument of the second function, so each has its own.
                for i, v in (([2, -1, 2], rows), (6, rows[1]), (None, 3 * table), ([], rows[:0])):
                    index = i if i is None else v1.constant(i, v1.int32)
                    fetches.append(v1.cast(function(table + table, index, v), v1.complex64))
    return fetches


def others(v1: Any) -> list[Any]:
    module = functions(v1)
    words, truths = v1.constant([["a", "b"], ["c", "d"]]), v1.constant([True, False, True])
    zeros = [
        module.empty([2, 3], kind, init=True) for kind in (v1.float64, v1.int32, v1.string, v1.bool)
    ]
    return [
        module.inplace_update(words, [1], [["", "e"]]),
        module.inplace_update(truths, v1.constant(0, v1.int64), False),
        module.empty_like(truths, init=True),
        v1.shape(module.empty_like(words)),
        *zeros,
    ]


def classified(v1: Any) -> list[Any]:
    """Return losses, which TensorFlow computes in loops that change rows."""
    logits = v1.constant(np.float32(np.random.default_rng(3).normal(size=(5, 2, 4))))
    loss = v1.nn.ctc_loss_v2([[1, 2], [3, 3]], logits, [2, 2], [5, 4])
    return [loss, v1.gradients(loss, logits)[0]]


@pytest.mark.parametrize("program", [changes, others, classified], ids=lambda each: each.__name__)
def test_a_program_gives_the_values_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, program: Any
) -> None:
    expected, *found_ways = genuine.three_answers(v1, program, tasks.target())
    for found in found_ways:
        for value, wanted in zip(found, expected, strict=True):
            assert value.dtype == wanted.dtype
            if wanted.dtype == object or wanted.dtype == bool:
                np.testing.assert_array_equal(value, wanted)
            else:
                np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("table", "rows", "values"),
    [
        (TABLE, [[0]], ROWS[:1]), (TABLE, [0], ROWS), (TABLE, [0], [[1, 2]]), (TABLE, [0], [1]),
    ],
)  # fmt: skip
def test_values_that_are_no_rows_of_the_tensor_are_refused(
    v1: Any, table: Any, rows: Any, values: Any
) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            changed = functions(tf).alias_inplace_add(table, tf.constant(rows, tf.int32), values)
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(changed)


def test_an_argument_keeps_its_rows() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        table = capstan.constant(TABLE) + 0
        changed = own_ops.alias_inplace_update(table, 1, ROWS[0])
        with capstan.control_dependencies([changed]):
            kept = capstan.identity(table)
        np.testing.assert_array_equal(session.run([changed, kept])[1], TABLE)


def test_what_has_no_sum_is_refused() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        joined = own_ops.inplace_add(capstan.constant(["a"]), [0], ["b"])
        with pytest.raises(capstan.errors.InvalidArgumentError, match="Unsupported data type"):
            session.run(joined)
