"""Complex numbers cross from task to task, and variables hold them."""

import pathlib
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_variable_of_another_task_adds_fed_numbers(
    target: str, dtype: Any, use_resource: bool
) -> None:
    start, fed = np.array([1 + 2j, -1j], dtype), np.array([0.5j, 4], dtype)
    name = f"{start.dtype}_{use_resource}"
    with tf.Graph().as_default(), tf.Session(target) as session:
        with tf.device("/job:ps"):
            variable = tf.get_variable(name, initializer=start, use_resource=use_resource)
        with tf.device("/job:worker"):
            step = tf.placeholder(dtype, [2])
            value = variable.assign_add(step * 2)
            product = tf.identity(value) * 1j
        session.run(tf.global_variables_initializer())
        found = session.run([value, product], {step: fed})
    expected = start + fed * 2
    assert [each.dtype for each in found] == [dtype, dtype]
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], expected * dtype(1j))


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_checkpoint_keeps_complex_variables(
    tmp_path: pathlib.Path, dtype: Any, use_resource: bool
) -> None:
    start = np.array([[1 + 2j, complex(-0.0, np.inf)]], dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("z", initializer=start, use_resource=use_resource)
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run(variable.assign_sub(start))
        saver.restore(session, path)
        found = session.run(variable)
    assert found.tobytes() == start.tobytes()
