"""Loops carry ragged tensors, with TensorFlow's static shapes, values and errors."""

from collections.abc import Iterator
from typing import Any

import genuine
import pytest
from oracle_tables import Case, compare, outcome
from ragged_rows import deep, parts, rows, wide

import capstan

pytestmark = genuine.MARKS


@pytest.fixture(params=[False, True], ids=["v1", "v2"], autouse=True)
def _control_flow(v1: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Build loops as the ops of TensorFlow 1 or as functions of TensorFlow 2."""
    apis = (v1, capstan)
    for tf in apis:
        (tf.enable_control_flow_v2 if request.param else tf.disable_control_flow_v2)()
    yield
    for tf in apis:
        tf.disable_control_flow_v2()


def looped(v1: Any, body: Any, start: Any, **options: Any) -> Any:
    """Return the ragged tensor after three iterations of `body`."""
    return v1.while_loop(lambda i, _: i < 3, lambda i, r: (i + 1, body(r)), [0, start], **options)[
        1
    ]


LOOPS: list[Case] = [
    lambda v1: parts(looped(v1, lambda r: r + 1, rows(v1))),
    lambda v1: parts(looped(v1, lambda r: v1.concat([r, r], 1), rows(v1))),
    lambda v1: parts(looped(v1, lambda r: v1.concat([r, r * 2], 1), deep(v1))),
    lambda v1: parts(looped(v1, lambda r: v1.concat([r, r], 1), wide(v1))),
    lambda v1: looped(v1, lambda d: {"a": d["a"] * 2}, {"a": rows(v1)})["a"].to_tensor(),
]
GROWING: Case = lambda v1: parts(looped(v1, lambda r: v1.concat([r, r], 0), rows(v1)))  # noqa: E731


def test_the_rows_may_change_their_lengths(v1: Any) -> None:
    compare(v1, LOOPS)


def test_the_number_of_rows_may_not_change(v1: Any) -> None:
    (kind, message), (expected_kind, expected) = (outcome(tf, GROWING) for tf in (capstan, v1))
    assert kind == expected_kind == "ValueError"
    assert message.partition(" enters ")[2] == expected.partition(" enters ")[2]


@pytest.mark.parametrize("make", [rows, deep, wide])
def test_the_static_shapes_are_those_of_tensorflow(v1: Any, make: Any) -> None:
    seen: dict[Any, list[Any]] = {v1: [], capstan: []}
    for tf, shapes in seen.items():
        with tf.Graph().as_default():

            def body(r: Any, shapes: list[Any] = shapes) -> Any:
                shapes.append([part.shape.as_list() for part in parts(r)])
                return r * 2

            last = looped(tf, body, make(tf))
            shapes.append([part.shape.as_list() for part in [last, *parts(last)]])
    assert seen[capstan] == seen[v1]
