"""The learning phase: whether layers train that are called without `training`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from capstan.api import creation_ops, smart_cond
from capstan.api.layers import context
from capstan.framework import graph as graphs


def learning_phase() -> Any:
    """Return the learning phase of the default graph: 1, 0, or a boolean scalar.

    Without `set_learning_phase`, it is the placeholder `keras_learning_phase`, whose default is
    False.
    """
    known = context.of()
    if known.learning_phase is None:
        graph = graphs.get_default_graph()
        with graph.name_scope(None), graph.control_dependencies(None):
            known.phase_input = creation_ops.placeholder_with_default(
                False, (), name="keras_learning_phase"
            )
        known.learning_phase = known.phase_input
    return known.learning_phase


def set_learning_phase(value: Any) -> None:
    """Set the learning phase of the default graph to 1 (training) or 0.

    Layers read the learning phase when they are called.

    Raises:
        ValueError: the value is neither 0 nor 1.
    """
    if value not in (0, 1):
        raise ValueError(f"Expected learning phase to be 0 or 1, found {value}.")
    context.of().learning_phase = int(value)


@contextmanager
def learning_phase_scope(value: Any) -> Iterator[None]:
    """Return a `with` block with another learning phase, 1 or 0.

    Raises:
        ValueError: the value is neither 0 nor 1.
    """
    known = context.of()
    before = known.learning_phase
    set_learning_phase(value)
    try:
        yield
    finally:
        known.learning_phase = before


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """Return `x` in training, and else `alt`. Both may be functions without arguments.

    `training` is a bool or a boolean scalar. Without it, the learning phase decides.
    """
    chosen = learning_phase() if training is None else training

    def made(value: Any) -> Any:
        return value if callable(value) else lambda: value

    return smart_cond.smart_cond(chosen, made(x), made(alt))


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """Return `alt` in training, and else `x`, as `in_train_phase` describes."""
    return in_train_phase(alt, x, training)
