"""Modules that programs copied from TensorFlow mark their functions with names."""

from typing import Any

import capstan as tf
from capstan.api import tf_export


def test_a_mark_keeps_names_and_leaves_the_function_and_tf_as_they_are() -> None:
    def twice(x: int) -> int:
        return 2 * x

    marked: Any = tf_export.tf_export("math.twice", v1=["twice"])(twice)
    assert marked is twice
    assert marked._tf_api_names == ("math.twice",)
    assert marked._tf_api_names_v1 == ["twice"]
    assert not hasattr(tf, "twice")

    own: Any = tf_export.estimator_export("estimator.Own")(type("Own", (), {}))
    assert own._estimator_api_names_v1 == ("estimator.Own",)
