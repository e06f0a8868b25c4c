"""What the call of a layer gets: `training` and masks, and what it must return."""

from typing import Any

import pytest

import capstan as tf


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


KINDS = [tf.layers.Layer, tf.keras.layers.Layer]


def passes_on(kind: Any, seen: list[Any]) -> Any:
    """Return a layer that notes the `training` and the `mask` of its calls."""

    class Passes(kind):  # type: ignore[misc]
        def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
            seen.append((training, mask))
            return inputs

    return Passes()


@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_that_is_passed_as_none_stays_none(kind: Any) -> None:
    seen: list[Any] = []
    inner = passes_on(kind, seen)

    class Around(tf.keras.layers.Layer):
        def call(self, inputs: Any, training: Any = None) -> Any:
            return inner(inner(inputs, training=None, mask=None))

    Around()(tf.keras.layers.Masking()(tf.ones([2, 3, 4])), training=True)
    assert seen[0] == (None, None)
    assert seen[1][0] is True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phase", [0, 1])
def test_a_layer_gets_the_learning_phase_as_a_truth_value(kind: Any, phase: int) -> None:
    seen: list[Any] = []
    tf.keras.backend.set_learning_phase(phase)
    passes_on(kind, seen)(tf.ones([2, 3]))
    assert seen == [(bool(phase), None)]


def test_layers_inside_get_a_truth_value_for_the_training_of_the_layer_around() -> None:
    seen: list[Any] = []
    inner = passes_on(tf.keras.layers.Layer, seen)

    class Around(tf.keras.layers.Layer):
        def call(self, inputs: Any, training: Any = None) -> Any:
            return inner(inputs)

    Around()(tf.ones([2, 3]), training=1)
    Around()(tf.ones([2, 3]), training=tf.constant(1))
    assert seen[0][0] is True
    assert seen[1][0].dtype == tf.bool


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_returns_nothing_is_refused(kind: Any) -> None:
    class Forgets(kind):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            tf.identity(inputs)

    with pytest.raises(ValueError, match=r"not None \(layer: forgets"):
        Forgets()(tf.ones([2]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_takes_no_unknown_arguments(kind: Any) -> None:
    with pytest.raises(TypeError, match="Unknown keyword argument: initialiser"):
        kind().add_weight("w", [2], initialiser="zeros")
