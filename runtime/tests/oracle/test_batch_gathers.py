"""Slices are selected in each of a batch as by TensorFlow, and have the same gradients."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import Case, compare, outcome

import capstan

pytestmark = genuine.MARKS

PARAMS = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
ROWS = np.array([[2, 0], [1, 1]])
PLACES = np.array([[[2, 0], [0, 3]], [[1, 1], [1, 1]]])


def fed(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(np.asarray(value), None)


def with_gradient(select: Any) -> Case:
    """Return a case with a selection, and its gradient where each element has its own weight."""

    def case(tf: Any) -> Any:
        params = tf.constant(PARAMS)
        chosen = select(tf, params)
        weights = tf.reshape(tf.range(tf.cast(tf.size(chosen), tf.float32)), tf.shape(chosen))
        return [chosen, *tf.gradients(chosen * weights, params)]

    return case


SELECTIONS = {
    "of the axis after the batch": lambda tf, x: tf.gather(x, ROWS, batch_dims=1),
    "of a later axis": lambda tf, x: tf.gather(x, ROWS, axis=2, batch_dims=1),
    "of the last axis": lambda tf, x: tf.gather(x, ROWS, axis=-1, batch_dims=1),
    "of two axes of batches": lambda tf, x: tf.gather(x, np.ones((2, 3, 2), int), batch_dims=2),
    "without an axis of its own": lambda tf, x: tf.gather(x, [1, 2], axis=1, batch_dims=1),
    "from the back": lambda tf, x: tf.gather(x, ROWS, axis=1, batch_dims=-1),
    "of unknown shapes": lambda tf, x: tf.gather(x, fed(tf, ROWS), axis=2, batch_dims=1),
    "of points": lambda tf, x: tf.gather_nd(x, PLACES, batch_dims=1),
    "of points of two axes": lambda tf, x: tf.gather_nd(
        x, np.full((2, 3, 1, 2), 2, np.int32), batch_dims=2
    ),
    "of whole slices": lambda tf, x: tf.gather_nd(x, np.zeros((2, 2, 0), int), batch_dims=1),
    "of points of unknown shape": lambda tf, x: tf.gather_nd(x, fed(tf, PLACES), batch_dims=1),
}


@pytest.mark.parametrize("name", sorted(SELECTIONS))
def test_selections_and_their_gradients_are_tensorflows(v1: Any, name: str) -> None:
    compare(v1, [with_gradient(SELECTIONS[name])])


@pytest.mark.parametrize("name", sorted(SELECTIONS))
def test_the_static_shapes_are_tensorflows(v1: Any, name: str) -> None:
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default():
            shape = SELECTIONS[name](tf, tf.placeholder(tf.float32, [2, 3, None, 5])).shape
            found.append(None if shape.ndims is None else shape.as_list())
    assert found[0] == found[1]


def test_indices_outside_their_batch_and_other_batches_are_refused(v1: Any) -> None:
    wrong, points = np.array([[2, 0], [1, 3]]), np.array([[[3, 0]], [[0, 0]]])
    cases: list[Case] = [
        lambda tf: tf.gather(PARAMS, fed(tf, wrong), axis=1, batch_dims=1),
        lambda tf: tf.gather_nd(PARAMS, fed(tf, points), batch_dims=1),
        lambda tf: tf.gather(fed(tf, PARAMS), fed(tf, ROWS[:1]), axis=1, batch_dims=1),
    ]
    for case in cases:
        assert outcome(capstan, case)[0] == outcome(v1, case)[0] == "InvalidArgumentError"


def test_a_gradient_with_a_batch_that_is_counted_from_an_unknown_end_is_refused() -> None:
    with capstan.Graph().as_default():
        params = capstan.constant(PARAMS)
        indices = capstan.placeholder(capstan.int32)
        chosen = capstan.gather(params, indices, axis=1, batch_dims=-1)
        with pytest.raises(ValueError, match=r"rank of `indices`.*batch_dims=-1"):
            capstan.gradients(chosen, params)


BATCHES = {
    "one": (ROWS, 1),
    "two": (np.full((2, 3, 2), 3), 2),
    "no axis of its own": (np.array([1, 2]), 1),
    "wrong": (np.array([[2, 0], [1, 3]]), 1),
}


def of_variable(tf: Any, indices: Any, batch: int, *, is_fed: bool) -> tuple[Any, Any]:
    """Return slices that an operation takes out of a variable, and the initializer."""
    variable = tf.get_variable("v", initializer=PARAMS, use_resource=True)
    places = tf.constant(indices)
    chosen = tf.raw_ops.ResourceGather(
        resource=variable.handle,
        indices=fed(tf, indices) if is_fed else places,
        dtype=tf.float32,
        batch_dims=batch,
    )
    return chosen, variable.initializer


@pytest.mark.parametrize("is_fed", [False, True])
@pytest.mark.parametrize("name", BATCHES)
def test_slices_of_variables_are_selected_in_each_of_a_batch(
    v1: Any, tasks: genuine.Tasks, name: str, is_fed: bool
) -> None:
    results = []
    for tf, target in ((v1, ""), (v1, tasks.target()), (capstan, "")):
        with tf.Graph().as_default(), tf.device("/job:ps/task:0" if target else None):
            chosen, initializer = of_variable(tf, *BATCHES[name], is_fed=is_fed)
            shape = chosen.shape.as_list() if chosen.shape.ndims is not None else None
            with tf.Session(target) as session:
                session.run(initializer)
                try:
                    value = session.run(chosen).tolist()
                except tf.errors.InvalidArgumentError as error:
                    value = type(error).__name__
            results.append((shape, value))
    assert results[1] == results[0]
    assert results[2] == results[0]


@pytest.mark.parametrize("name", [name for name in BATCHES if name != "wrong"])
def test_the_gradient_of_slices_in_batches_of_a_variable_is_that_of_a_tensor(name: str) -> None:
    tf = capstan
    indices, batch = BATCHES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        chosen, initializer = of_variable(tf, indices, batch, is_fed=False)
        params = tf.constant(PARAMS)
        of_tensor = tf.gather(params, indices, batch_dims=batch)
        weights = tf.reshape(tf.range(tf.cast(tf.size(chosen), tf.float32)), tf.shape(chosen))
        (variable,) = tf.global_variables()
        found = tf.gradients(chosen * weights, variable)[0]
        expected = tf.gradients(of_tensor * weights, params)[0]
        session.run(initializer)
        np.testing.assert_array_equal(*session.run([tf.convert_to_tensor(found), expected]))
