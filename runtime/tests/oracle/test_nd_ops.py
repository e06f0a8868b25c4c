"""Changes of variables at multi-dimensional indices give the values of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

INITIAL = np.arange(6, dtype=np.float32).reshape(3, 2)


def run(tf: Any, name: str, use_resource: bool, target: str = "") -> list[Any]:
    """Change a variable twice. Return its value after each change."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        variable = tf.get_variable("v", initializer=INITIAL, use_resource=use_resource)
        rows = getattr(tf, name)(variable, [[2], [0]], [[5.0, 6.0], [7.0, 8.0]])
        elements = getattr(tf, name)(variable, np.array([[1, 1]], np.int64), [9.0])
        session.run(tf.global_variables_initializer())
        found = []
        for change in (rows, elements):
            session.run(tf.identity(change))
            found.append(session.run(variable))
        return found


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", ["scatter_nd_update", "scatter_nd_add", "scatter_nd_sub"])
def test_changes_are_those_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, name: str, use_resource: bool
) -> None:
    expected = run(v1, name, use_resource)
    v1.Session.reset(tasks.target())
    np.testing.assert_array_equal(run(v1, name, use_resource, tasks.target()), expected)
    np.testing.assert_array_equal(run(capstan, name, use_resource), expected)
