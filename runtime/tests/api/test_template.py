"""Templates: functions whose calls share variables."""

from typing import Any

import numpy as np
import pytest

import capstan as tf


def scaled(x: Any, by: float = 2.0) -> Any:
    return x * tf.get_variable("w", [], initializer=tf.constant_initializer(by))


def names(variables: Any) -> list[str]:
    return [variable.op.name for variable in variables]


def test_calls_share_the_variables_of_the_first_call() -> None:
    scale = tf.make_template("scale", scaled, by=3.0)
    assert (scale.name, scale.variable_scope, scale.variables) == ("scale", None, [])
    first, second = scale(1.0), scale(2.0)
    assert names(tf.global_variables()) == names(scale.trainable_variables) == ["scale/w"]
    assert (first.op.name, second.op.name) == ("scale/mul", "scale_1/mul")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([first, second]) == [3, 6]


def test_two_templates_have_variables_of_their_own() -> None:
    one, other = tf.make_template("scale", scaled), tf.make_template("scale", scaled)
    one(1.0), other(1.0), one(1.0)
    assert names(tf.global_variables()) == ["scale/w", "scale_1/w"]
    assert (one.variable_scope_name, other.variable_scope_name) == ("scale/", "scale_1/")
    assert names(other.variables) == ["scale_1/w"]


def test_a_template_lists_its_variables_by_whether_an_optimizer_changes_them() -> None:
    def shifted(x: Any) -> Any:
        return scaled(x) + tf.get_variable("b", [], trainable=False)

    template = tf.make_template("shift", shifted)
    assert template.weights == template.non_trainable_weights == []
    template(1.0)
    assert names(template.weights) == names(template.variables) == ["shift/w", "shift/b"]
    assert names(template.trainable_weights) == ["shift/w"]
    assert names(template.non_trainable_variables) == ["shift/b"]
    assert template.non_trainable_weights == template.non_trainable_variables


def test_a_scope_that_is_created_at_once_has_the_place_of_the_template() -> None:
    with tf.variable_scope("outer"):
        scale = tf.make_template("scale", scaled, create_scope_now_=True)
    with tf.variable_scope("other"):
        scale(1.0), scale(1.0)
    assert names(tf.global_variables()) == ["outer/scale/w"]


def test_the_first_call_has_the_name_of_the_template_as_its_name_scope() -> None:
    def seen() -> tuple[str, str]:
        scope = tf.get_variable_scope()
        return tf.get_default_graph().get_name_scope(), scope.original_name_scope

    template = tf.make_template("name", seen, create_scope_now_=True)
    assert [template(), template()] == [("name", "name"), ("name_1", "name")]
    other = tf.make_template("name", seen, create_scope_now_=True)
    assert other() == ("name_1_1", "name_1")


def test_a_unique_name_is_shared() -> None:
    tf.make_template("a", scaled, unique_name_="same")(1.0)
    with pytest.raises(ValueError, match="already exists"):
        tf.make_template("b", scaled, unique_name_="same")(1.0)


def test_a_custom_getter_makes_the_variables() -> None:
    def frozen(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(*args, **{**kwargs, "trainable": False})

    scale = tf.make_template("scale", scaled, custom_getter_=frozen)
    scale(1.0)
    assert (scale.trainable_variables, names(scale.global_variables)) == ([], ["scale/w"])


def test_a_later_call_that_creates_a_trainable_variable_is_refused() -> None:
    template = tf.make_template("new", lambda: tf.Variable(1.0))
    template()
    with pytest.raises(ValueError, match="Trainable variable created when calling a template"):
        template()


def test_a_template_needs_a_name() -> None:
    with pytest.raises(ValueError, match="name cannot be None"):
        tf.make_template(None, scaled)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 3, 4), (2, 2, 9)])
def test_orthogonal_values_have_orthonormal_rows_or_columns(shape: tuple[int, ...]) -> None:
    value = tf.orthogonal_initializer(gain=2.0, seed=1)(shape)
    with tf.Session() as session:
        found = session.run(value)
    assert found.shape == shape
    matrix = found.reshape(-1, shape[-1]) / 2
    product = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-5)


def test_an_orthogonal_vector_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two-dimensional"):
        tf.orthogonal_initializer()([3])
