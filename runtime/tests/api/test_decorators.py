"""`tf_decorator` keeps the function that a decorator wraps."""

from typing import Any

import capstan as tf

tf_decorator = tf.python.util.tf_decorator


def doubled(target: Any) -> Any:
    def wrapper(*args: Any) -> Any:
        """Hide the docstring of the target."""
        return 2 * wrapper.__wrapped__(*args)  # type: ignore[attr-defined]

    return tf_decorator.make_decorator(target, wrapper, decorator_doc="Doubled.")


def number(value: int) -> int:
    """Return the number."""
    return value


number.unit = "m"  # type: ignore[attr-defined]


def with_a_decorated_method() -> Any:
    class Plain:
        @doubled
        def number(self, value: int) -> int:
            return value

    return Plain()


def test_a_decorated_function_has_the_names_of_its_target() -> None:
    made = doubled(number)
    assert made(2) == 4
    assert (made.__name__, made.__module__, made.unit) == ("number", __name__, "m")
    assert made.__doc__ == "Doubled."
    assert with_a_decorated_method().number(3) == 6


def test_unwrap_returns_the_decorators_and_the_target() -> None:
    outer = doubled(inner := doubled(number))
    decorators, target = tf_decorator.unwrap(outer)
    assert target is number
    assert [each.decorator_name for each in decorators] == ["doubled", "doubled"]
    assert [each.decorated_target for each in decorators] == [inner, number]
    assert decorators[0](1) == 2
    assert tf_decorator.unwrap(decorators[1]) == ([decorators[1]], number)
    assert tf_decorator.unwrap(number) == ([], number)


def test_a_decorator_is_called_and_bound_as_its_target() -> None:
    class Named:
        name = "one"
        greet = tf_decorator.TFDecorator("polite", lambda self: f"Dear {self.name}", "Greets.")

    assert Named().greet() == "Dear one"
    assert Named.__dict__["greet"].decorator_doc == "Greets."


def test_the_arguments_are_those_of_the_target_or_those_that_a_decorator_names() -> None:
    inspection = tf.python.util.tf_inspect

    def plain(a: int, b: int = 2) -> None:
        pass

    made = doubled(doubled(plain))
    assert inspection.getargspec(made) == inspection.getargspec(plain)
    assert inspection.getfullargspec(made) == inspection.getfullargspec(plain)
    spec = inspection.getfullargspec(number)
    named = doubled(tf_decorator.make_decorator(plain, lambda: None, decorator_argspec=spec))
    assert inspection.getfullargspec(named) == spec
    assert inspection.getargspec(named) == (["value"], None, None, None)
    short = inspection.ArgSpec(["x"], "rest", "named", (1,))
    named = doubled(tf_decorator.make_decorator(plain, lambda: None, decorator_argspec=short))
    assert inspection.getargspec(named) == short
    assert inspection.getfullargspec(named) == (["x"], "rest", "named", (1,), [], None, {})


def test_the_arguments_of_public_functions_are_tensorflows_and_have_no_annotations() -> None:
    arguments = tf.python.util.tf_inspect.getfullargspec
    # Some of these functions also take ragged tensors, or linear operators.
    cast: Any = (["x", "dtype", "name"], None, None, (None,), [], None, {})
    assert arguments(tf.cast) == arguments(tf.compat.v2.cast) == cast
    assert arguments(tf.linalg.det) == (["input", "name"], None, None, (None,), [], None, {})


def test_rewrap_gives_decorators_another_target() -> None:
    outer = doubled(doubled(number))
    assert tf_decorator.rewrap(outer, number, abs) is outer
    assert outer(-3) == 12
    assert tf_decorator.unwrap(outer)[1] is abs
    assert tf_decorator.rewrap(number, number, abs) is abs
    plain = with_a_decorated_method()
    tf_decorator.rewrap(plain.number, tf_decorator.unwrap(plain.number)[1], lambda self, x: -x)
    assert plain.number(3) == -6


def test_a_class_of_a_program_forwards_the_operators_of_tensors(graph: tf.Graph) -> None:
    class Box:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        method = getattr(tf.Tensor, name)
        setattr(Box, name, lambda box, *args, method=method: method(box.tensor, *args))
    box: Any = Box(tf.constant([2, 3]))
    with tf.Session() as session:
        values = session.run([box + 1, 7 - box, -box, box[0], box // 2, box > 2])
    assert [value.tolist() for value in values] == [
        *([3, 4], [5, 4], [-2, -3], 2, [1, 1], [False, True]),
    ]
