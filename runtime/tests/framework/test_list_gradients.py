"""Gradients pass through tensor lists and optionals, as in TensorFlow 2."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import dtypes
from capstan.framework.raw import raw

ROWS = np.float32([[1, 2], [3, 4], [5, 6]])
OF = {"element_dtype": dtypes.float32}


def pushed(x: Any) -> Any:
    made = raw.EmptyTensorList([2], -1, **OF)
    return raw.TensorListPushBack(raw.TensorListPushBack(made, x[0]), x[2] * x[1])


def popped(x: Any) -> Any:
    rest, last = raw.TensorListPopBack(pushed(x), [2], **OF)
    return raw.TensorListStack(rest, [2], **OF) * last


def through_optional(x: Any) -> Any:
    made = raw.OptionalFromValue([x * x])
    (value,) = raw.OptionalGetValue(
        made, output_types=[dtypes.float32], output_shapes=[tf.TensorShape([3, 2])]
    )
    return value


CASES: dict[str, Callable[[Any], Any]] = {
    "push, pop": popped,
    "stack": lambda x: raw.TensorListStack(pushed(x), [2], **OF),
    "set, get": lambda x: raw.TensorListGetItem(
        raw.TensorListSetItem(raw.TensorListFromTensor(x, [2]), 1, x[0] * x[2]), 1, [2], **OF
    ),
    "resize": lambda x: raw.TensorListStack(
        raw.TensorListResize(raw.TensorListFromTensor(x * x, [2]), 2), [2], **OF
    ),
    "scatter, gather": lambda x: raw.TensorListGather(
        raw.TensorListScatterV2(x * x, [2, 0, 1], [2], -1), [2, 0], [2], **OF
    ),
    "scatter into": lambda x: raw.TensorListStack(
        raw.TensorListScatterIntoExistingList(
            raw.TensorListFromTensor(x, [2]), x[:2] * x[1:], [0, 2]
        ),
        [2],
        **OF,
    ),
    "split, concat": lambda x: raw.TensorListConcatV2(
        raw.TensorListSplit(x * x, [-1, 2], np.int64([2, 1])), [-1, 2], np.int64([]), **OF
    )[0],
    "optional": through_optional,
}


@pytest.mark.e2e
@pytest.mark.parametrize("name", CASES)
def test_the_gradient_agrees_with_differences(name: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 2])
        y = CASES[name](x)
        total = tf.reduce_sum(y * y)
        (gradient,) = tf.gradients(total, x)
        with tf.Session() as session:
            found = session.run(tf.convert_to_tensor(gradient), {x: ROWS})
            step = np.float32(1 / 64)
            expected = np.zeros_like(ROWS)
            for place in np.ndindex(*ROWS.shape):
                moved = np.zeros_like(ROWS)
                moved[place] = step
                higher, lower = (session.run(total, {x: ROWS + sign * moved}) for sign in (1, -1))
                expected[place] = (higher - lower) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.2)
