"""Programs with `tf.function`, without the conversion of Python's control flow.

Each program takes TensorFlow 1's API. It returns the values to fetch, after the variables are
initialised, and facts that Python knows, such as how often a function was traced.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], tuple[Any, Any]]


def one_call(tf: Any) -> tuple[Any, Any]:
    multiply = tf.function(lambda x, y: x * y + 1.0, autograph=False)
    x = tf.constant(3.0)
    y = multiply(x, 2.0)
    return [y, tf.gradients(y, x)], y.shape.as_list()


def a_variable_of_the_first_call(tf: Any) -> tuple[Any, Any]:
    traces, made = [], []

    @tf.function(autograph=False)
    def scaled(x: Any) -> Any:
        traces.append(x)
        if not made:
            made.append(tf.Variable(tf.ones([2]) * 3.0))
        return made[0] * x

    y = scaled(tf.constant(2.0))
    again = scaled(tf.constant(5.0))
    names = [variable.name for variable in tf.global_variables()]
    return [y, again, tf.gradients(y, made[0])], (len(traces), names)


def a_variable_by_name(tf: Any) -> tuple[Any, Any]:
    @tf.function(autograph=False)
    def scaled(x: Any) -> Any:
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            return tf.get_variable("w", [2], initializer=tf.ones_initializer()) * x

    return [scaled(3.0), scaled(4.0)], [variable.name for variable in tf.global_variables()]


def changes_in_order(tf: Any) -> tuple[Any, Any]:
    variable = tf.Variable(1.0, use_resource=True)

    @tf.function(autograph=False)
    def changed() -> Any:
        first = variable.read_value()
        variable.assign_add(2.0)
        second = variable.read_value()
        variable.assign(variable * 10.0)
        return first, second, variable.read_value()

    return changed(), None


def changes_in_a_branch(tf: Any) -> tuple[Any, Any]:
    variable = tf.Variable(1.0, use_resource=True)

    @tf.function(autograph=False)
    def changed(is_more: Any) -> Any:
        tf.cond(is_more, lambda: variable.assign_add(5.0), lambda: variable.assign_sub(1.0))
        return variable.read_value()

    return changed(tf.placeholder_with_default(True, [])), None


def changes_in_a_loop(tf: Any) -> tuple[Any, Any]:
    variable = tf.Variable(1.0, use_resource=True)

    @tf.function(autograph=False)
    def changed() -> Any:
        def body(i: Any) -> Any:
            variable.assign_add(5.0)
            return i + 1

        tf.while_loop(lambda i: i < 3, body, [0])
        return variable.read_value()

    return changed(), None


def changes_in_called_functions(tf: Any) -> tuple[Any, Any]:
    variable = tf.Variable(1.0, use_resource=True)

    @tf.function(autograph=False)
    def more(x: Any) -> Any:
        variable.assign_add(x)
        return variable.read_value()

    @tf.function(autograph=False)
    def outer(x: Any) -> Any:
        more(x)
        variable.assign(variable * 2.0)
        return more(x), variable.read_value()

    return outer(tf.constant(3.0)), None


def nested_results(tf: Any) -> tuple[Any, Any]:
    @tf.function(autograph=False)
    def grouped(a: Any, b: Any = None, *c: Any, **d: Any) -> Any:
        return {"a": a, "none": None, "c": c, "d": d}

    found = grouped(tf.constant(1), 3, tf.constant([1]), e=tf.constant(2.0))
    none = found.pop("none")
    body = grouped.get_concrete_function(tf.TensorSpec([None], tf.int32))
    return found, (none, len(body.inputs), sorted(body.structured_outputs))


def sparse_and_ragged(tf: Any) -> tuple[Any, Any]:
    dense = tf.function(lambda s: (tf.sparse.to_dense(s), s), autograph=False)
    sums = tf.function(lambda r: (r + 1, tf.reduce_sum(r, axis=1)), autograph=False)
    first = dense(tf.SparseTensor([[0, 1]], [2.0], [2, 2]))
    rows, totals = sums(tf.ragged.constant([[1, 2], [3]]))
    return [first, rows.to_tensor(), totals], None


def arrays_as_arguments(tf: Any) -> tuple[Any, Any]:
    stacked = tf.function(lambda array: array.write(1, 5.0).stack(), autograph=False)

    @tf.function(autograph=False)
    def outer() -> Any:
        return stacked(tf.TensorArray(tf.float32, 2).write(0, 1.0))

    return outer(), None


def traces_by_arguments(tf: Any) -> tuple[Any, Any]:
    traces: list[Any] = []

    @tf.function(autograph=False)
    def added(x: Any, y: Any) -> Any:
        traces.append(y)
        return x + y

    counts = []
    for x, y in ((1, 2), (5, 2), (1, 3), ([1], 3), ([1, 2], 3)):
        added(tf.constant(x), y)
        counts.append(len(traces))
    added(np.ones(2, np.int32), 3)
    return [], [*counts, len(traces)]


def relaxed_shapes(tf: Any) -> tuple[Any, Any]:
    shapes: list[Any] = []

    @tf.function(autograph=False, experimental_relax_shapes=True)
    def more(x: Any) -> Any:
        shapes.append(x.shape.as_list())
        return x + 1

    return [more(tf.ones([size])) for size in range(1, 5)], shapes


def signatures(tf: Any) -> tuple[Any, Any]:
    shapes: list[Any] = []

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.int32)])
    def more(x: Any, y: int = 1) -> Any:
        shapes.append(x.shape.as_list())
        return x + y

    return [more([1, 2]), more(tf.constant([1, 2, 3])), more(x=[1])], shapes


def methods(tf: Any) -> tuple[Any, Any]:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @tf.function(autograph=False)
        def of(self, x: Any) -> Any:
            return x * self.factor

    two, three = Scale(2.0), Scale(3.0)
    return [two.of(tf.constant(1.0)), three.of(tf.constant(1.0))], None


def captured_tensors(tf: Any) -> tuple[Any, Any]:
    x, y = tf.constant(3.0), tf.constant(2.0)
    inner = tf.function(lambda z: z * x, autograph=False)
    outer = tf.function(lambda y: inner(y) + inner(y * 2.0), autograph=False)
    found = outer(y)
    return [found, tf.gradients(found, [x, y])], None


def a_function_within(tf: Any) -> tuple[Any, Any]:
    @tf.function(autograph=False)
    def outer(y: Any) -> Any:
        doubled = y * 2.0
        return tf.function(lambda z: z * doubled, autograph=False)(y)

    y = tf.constant(2.0)
    found = outer(y)
    return [found, tf.gradients(found, y)], None


def gradients_inside(tf: Any) -> tuple[Any, Any]:
    slope = tf.function(lambda x: tf.gradients(x**3.0, x)[0], autograph=False)
    x = tf.constant(2.0)
    first = tf.gradients(tf.function(lambda x: x**3.0, autograph=False)(x), x)[0]
    return [slope(x), first, tf.gradients(first, x)], None


def loops_with_gradients(tf: Any) -> tuple[Any, Any]:
    @tf.function(autograph=False)
    def power(x: Any) -> Any:
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, 1.0])[1]

    x = tf.constant(2.0)
    y = power(x)
    return [y, tf.gradients(y, x)], None


def concrete_functions(tf: Any) -> tuple[Any, Any]:
    scalar = tf.TensorSpec([], tf.float32)
    made = tf.function(lambda x, y: x - y, autograph=False).get_concrete_function(scalar, scalar)
    one, three = tf.constant(1.0), tf.constant(3.0)
    return [made(one, three), made(x=one, y=three)], [tensor.op.name for tensor in made.inputs]


def a_train_step(tf: Any) -> tuple[Any, Any]:
    variable = tf.Variable(3.0, use_resource=True)
    optimizer = tf.train.GradientDescentOptimizer(0.1)

    @tf.function(autograph=False)
    def step(x: Any) -> Any:
        loss = (variable * x) ** 2.0
        optimizer.minimize(loss, var_list=[variable])
        return loss, variable.read_value()

    return step(tf.constant(1.0)), None


def modules(tf: Any) -> tuple[Any, Any]:
    class Scale(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w: Any = None

        @tf.function(autograph=False)
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(2.0, name="w")
            return self.w * x

    scale = Scale()
    return scale(tf.constant(3.0)), [variable.name for variable in scale.variables]


PROGRAMS: tuple[Program, ...] = (
    one_call,
    a_variable_of_the_first_call,
    a_variable_by_name,
    changes_in_order,
    changes_in_a_branch,
    changes_in_a_loop,
    changes_in_called_functions,
    nested_results,
    sparse_and_ragged,
    arrays_as_arguments,
    traces_by_arguments,
    relaxed_shapes,
    signatures,
    methods,
    captured_tensors,
    a_function_within,
    gradients_inside,
    loops_with_gradients,
    concrete_functions,
    a_train_step,
    modules,
)
