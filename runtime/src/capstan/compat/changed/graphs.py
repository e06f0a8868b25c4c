"""Functions of `tf.compat.v2` that shape the graph: scopes, devices, branches and gradients."""

import sys
from collections.abc import Callable
from typing import Any

# An import would be a cycle, as the package names all its parts. It is loaded before them.
tf: Any = sys.modules["capstan"]


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """As `tf.cond` with `strict`: a list of one tensor remains a list."""
    return tf.cond(pred, true_fn, false_fn, strict=True, name=name)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """As `tf.while_loop` with `return_same_structure`: a list of one tensor remains a list."""
    return tf.while_loop(
        cond, body, loop_vars, shape_invariants, parallel_iterations, back_prop, swap_memory,
        name, maximum_iterations, return_same_structure=True,
    )  # fmt: skip


def device(device_name: Any) -> Any:
    """As `tf.device`, for names only.

    Raises:
        RuntimeError: the device is a function.
    """
    if callable(device_name):
        raise RuntimeError("tf.compat.v2.device does not support functions. Use tf.device.")
    return tf.device(device_name)


def name_scope(name: str) -> Any:
    """As `tf.name_scope`, for a name only.

    Raises:
        ValueError: the name is no string.
    """
    if not isinstance(name, str):
        raise ValueError("name for name_scope must be a string.")
    return tf.name_scope(name)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: Any = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = tf.UnconnectedGradients.NONE,
) -> Any:
    """As `tf.gradients`, on the devices of the operations."""
    return tf.gradients(
        ys, xs, grad_ys, name, True, gate_gradients, aggregation_method, stop_gradients,
        unconnected_gradients,
    )  # fmt: skip


def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: Any = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> Any:
    """As `tf.hessians`, on the devices of the operations."""
    return tf.hessians(ys, xs, name, True, gate_gradients, aggregation_method)


def assert_equal_graph_def(expected: Any, actual: Any) -> None:
    """As `tf.test.assert_equal_graph_def`, but random names of tables and checkpoints are equal."""
    tf.test.assert_equal_graph_def(
        actual, expected, checkpoint_v2=True, hash_table_shared_name=True
    )
