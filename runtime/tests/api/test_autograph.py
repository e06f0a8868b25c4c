"""`tf.autograph`: a converted function does on tensors what Python does on numbers."""

import functools
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import autograph_programs
import numpy as np
import pytest
from fresh_sessions import run
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf

PROGRAMS = autograph_programs.PROGRAMS
CASES = [
    pytest.param(function, arguments, id=f"{function.__name__}-{number}")
    for function, each in PROGRAMS
    for number, arguments in enumerate(each)
]


def given_in_steps(value: Any) -> Any:
    """Return a tensor whose value only the step knows."""
    return tf.placeholder_with_default(value, np.shape(value))


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_a_traced_function_does_what_python_does(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    found = run(tf.function(function)(*map(given_in_steps, arguments)))
    assert found == function(*arguments)


@pytest.mark.parametrize(
    ("function", "arguments"), [(program, calls[0]) for program, calls in PROGRAMS]
)
def test_a_converted_function_does_what_python_does_with_both_kinds_of_values(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    converted = tf.autograph.to_graph(function)
    assert converted(*arguments) == function(*arguments)
    assert run(converted(*map(given_in_steps, arguments))) == function(*arguments)


@pytest.mark.parametrize("function", [program for program, _ in PROGRAMS])
def test_the_source_of_a_converted_function_is_python(function: Callable[..., Any]) -> None:
    compile(tf.autograph.to_code(function), "converted", "exec")


def summed(items: Any, most: Any) -> Any:
    total = 0
    count = 0
    for item in items:
        if item < 0:
            continue
        if total + item > most:
            break
        total += item
        count += 1
    return total, count


@pytest.fixture(scope="module")
def summed_in_a_graph() -> Iterator[Callable[..., Any]]:
    with tf.Graph().as_default():
        items, most = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])
        fetches = tf.function(summed)(items, most)
        with tf.Session() as session:
            yield session.make_callable(list(fetches), [items, most])


@given(st.lists(st.integers(-5, 5), max_size=6), st.integers(-6, 6))
def test_a_loop_over_a_tensor_ends_where_that_over_a_list_ends(
    summed_in_a_graph: Callable[..., Any], values: list[int], most: int
) -> None:
    found = summed_in_a_graph(np.array(values, np.int32), most)
    assert tuple(found) == summed(values, most)


def test_loops_over_datasets() -> None:
    @tf.function
    def summed(most: Any) -> Any:
        total = tf.constant(0, tf.int64)
        every = tf.constant(0, tf.int64)
        for x in tf.data.Dataset.range(10):
            if x > most:
                break
            total += x
        for x in tf.data.Dataset.range(10):
            every += x
        return total, every

    assert run(summed(given_in_steps(np.int64(4)))) == (10, 45)


def test_a_loop_over_an_iterator_takes_its_elements() -> None:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(5))

    @tf.function
    def summed() -> Any:
        total = tf.constant(0, tf.int64)
        for x in iterator:
            total += x
        return total

    assert run(summed()) == 10


def test_a_loop_over_an_iterator_that_breaks_takes_no_further_element() -> None:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(9))

    @tf.function
    def taken(most: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for x in iterator:
            if x > most:
                break
            total += x
        return total, iterator.get_next()

    assert run(taken(given_in_steps(np.int64(2)))) == (3, 4)


def test_a_loop_over_ragged_rows() -> None:
    @tf.function
    def longest(rows: Any) -> Any:
        most = 0
        for row in rows:
            if tf.size(row) > most:
                most = tf.size(row)
        return most

    assert run(longest(tf.ragged.constant([[1], [1, 2, 3], []]))) == 3


def test_gradients_go_through_converted_control_flow() -> None:
    @tf.function
    def power(x: Any, n: Any) -> Any:
        y = 1.0
        for _ in range(n):
            if x > 0:
                y = y * x
        return y

    x = given_in_steps(2.0)
    y = power(x, given_in_steps(3))
    assert run([y, tf.gradients(y, x)]) == [8.0, [12.0]]


def test_a_dictionary_with_keys_without_order_cannot_change_over_tensors() -> None:
    def mixed(x: Any) -> Any:
        table = {1: 0, "a": 0}
        if x > 0:
            table[1] = 5
        else:
            table[1] = 6
        return table[1]

    converted = tf.autograph.to_graph(mixed)
    assert [converted(1), converted(-1)] == [5, 6]
    with pytest.raises(TypeError, match="'table' has a dictionary whose keys cannot be sorted"):
        converted(given_in_steps(1))


def test_items_of_an_outer_list_depend_on_the_branch() -> None:
    outer = [0]

    def choose(x: Any) -> Any:
        if x > 0:
            outer[0] = 5
        else:
            outer[0] = 6
        return outer[0]

    converted = tf.autograph.to_graph(choose)
    assert [run(converted(given_in_steps(x))) for x in (1, -1)] == [5, 6]


def test_arrays_grow_in_loops() -> None:
    @tf.function
    def squares(n: Any) -> Any:
        array = tf.TensorArray(tf.int32, 0, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(i, i * i)
        return array.stack()

    assert list(run(squares(given_in_steps(4)))) == [0, 1, 4, 9]


def test_shapes_may_change_in_a_loop_with_invariants() -> None:
    @tf.function
    def doubled(n: Any) -> Any:
        x = tf.zeros([1])
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.concat([x, x], 0)
        return x

    assert run(doubled(given_in_steps(3))).shape == (8,)


def test_changes_of_variables_in_converted_blocks_run_in_order() -> None:
    variable = tf.Variable(0, use_resource=True)

    @tf.function
    def changed(n: Any) -> Any:
        for i in tf.range(n):
            if i % 2 == 0:
                variable.assign_add(i)
            else:
                variable.assign(variable * 2)
        return variable.read_value()

    assert run(changed(given_in_steps(5))) == 8


def test_a_method_is_converted_once_for_each_object() -> None:
    class Counter:
        def __init__(self, step: int) -> None:
            self.step = step

        @tf.function
        def up_to(self, n: Any) -> Any:
            i = 0
            while i < n:
                i += self.step
            return i

    assert run([Counter(2).up_to(given_in_steps(5)), Counter(3).up_to(given_in_steps(5))]) == [6, 6]


def test_a_function_that_is_not_converted_runs_as_it_is() -> None:
    @tf.autograph.experimental.do_not_convert
    def decided(x: Any) -> Any:
        return 1 if isinstance(x, tf.Tensor) else 2

    assert run(tf.function(lambda x: decided(x) + 0 * x)(given_in_steps(3))) == 1


def test_a_lambda_is_converted() -> None:
    found = tf.function(lambda x: x if x > 0 else -x)(given_in_steps(-3.0))
    mapped = tf.function(lambda x: tf.map_fn(lambda y: y if y > 0 else -y, x))
    mapped = mapped(tf.constant([1.0, -2.0]))
    assert run(found) == 3.0
    assert list(run(mapped)) == [1.0, 2.0]


def test_a_list_of_the_program_notes_python_values_while_the_graph_is_built() -> None:
    noted: list[Any] = []

    @tf.function
    def counted(n: Any) -> Any:
        for i in tf.range(n):
            noted.append("loop")
            if i > 2:
                noted.append("branch")
                n -= 1
        return n

    assert run(counted(given_in_steps(5))) == 3
    assert noted == ["loop", "branch"]


def test_an_error_shows_the_line_of_the_program() -> None:
    @tf.function
    def wrong(x: Any) -> Any:
        if x > 0:
            x = tf.matmul(x, [1, 2])
        return x

    with pytest.raises((TypeError, ValueError)) as caught:
        wrong(given_in_steps(3.0))
    text = "".join(traceback.format_exception(caught.value))
    assert "x = tf.matmul(x, [1, 2])" in text
    assert "test_autograph.py" in text


def unset_in_a_branch(x: Any) -> Any:
    if x > 0:
        y = 1
    return y


def unset_before_a_loop(x: Any) -> Any:
    while x > 0:
        y = x
        x -= 1
    return y


def return_in_a_loop(x: Any) -> Any:
    for i in tf.range(x):
        if i > 2:
            return i
    return -1


def other_types(x: Any) -> Any:
    y = 1 if x > 0 else 0
    if x > 0:
        y = 2.0
    return y


def one_return(x: Any) -> Any:  # noqa: RET503 - the case
    if x > 0:
        return x


def append_in_a_loop(x: Any) -> Any:
    found: list[Any] = []
    for i in tf.range(x):
        found.append(i)  # noqa: PERF402 - the case
    return found


def append_in_a_branch(x: Any) -> Any:
    found = [1]
    if x > 2:
        found.append(x)
    return found[-1]


def new_key_in_a_branch(x: Any) -> Any:
    found = {"a": x}
    if x > 2:
        found["b"] = x
    return found


def attribute_of_one_branch(x: Any) -> Any:
    scale = autograph_programs.Scale()
    if x > 2:
        scale.size = x  # type: ignore[attr-defined]
    return scale.size  # type: ignore[attr-defined]


def break_of_a_python_loop(x: Any) -> Any:
    for i in [1, 2, 3]:
        if x > i:
            break
    return x


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (unset_in_a_branch, ValueError, "'y' must also be initialized in the else branch"),
        (unset_before_a_loop, ValueError, "'y' must be defined before the loop"),
        (return_in_a_loop, NotImplementedError, "return statements are not supported within"),
        (other_types, TypeError, "'y' has dtype float32 in the main branch, but dtype int32"),
        (one_return, ValueError, "A value must also be returned from the else branch"),
        (append_in_a_loop, TypeError, "'found' does not have the same elements before and"),
        (append_in_a_branch, TypeError, "'found' does not have the same nested structure in"),
        (new_key_in_a_branch, TypeError, "'found' does not have the same nested structure in"),
        (attribute_of_one_branch, ValueError, "'scale.size' must also be initialized in the else"),
        (break_of_a_python_loop, TypeError, "cannot end by a condition that is a tensor"),
    ],
)
def test_a_function_that_tensors_cannot_follow_is_refused(
    function: Callable[..., Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        tf.function(function)(given_in_steps(1))


def test_without_autograph_a_condition_over_a_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="as a Python `bool` is not allowed"):
        tf.function(autograph_programs.one_branch, autograph=False)(given_in_steps(1.0))


def test_an_unset_variable_raises_what_python_raises() -> None:
    with pytest.raises(UnboundLocalError, match="'y'"):
        tf.autograph.to_graph(lambda x: unset_in_a_branch(x) + 1)(0)


class Halved:
    limit = 4

    def __call__(self, x: Any) -> Any:
        if x > self.limit:
            return x // 2
        return x

    def generated(self) -> Any:
        yield 1


ENTITIES = (
    Halved(),
    Halved().__call__,
    lambda x: Halved()(x),
    functools.partial(lambda y, x: Halved()(x), 0),
    tf.function(Halved().__call__),
)


@pytest.mark.parametrize("entity", ENTITIES, ids=range(len(ENTITIES)))
def test_everything_that_calls_a_function_of_the_program_is_converted(entity: Any) -> None:
    made = tf.autograph.to_graph(entity)
    assert made(8) == 4
    assert run(made(given_in_steps(8))) == 4
    compile(tf.autograph.to_code(entity), "converted", "exec")


def test_the_code_of_a_class_is_that_of_its_methods() -> None:
    assert "ag__.if_stmt" in tf.autograph.to_code(autograph_programs.Scale)
    assert run(tf.autograph.to_graph(autograph_programs.Scale)().of(given_in_steps(2))) == 6


def without_source() -> Any:
    made: dict[str, Any] = {}
    exec("def hidden(x): return x", made)
    return made["hidden"]


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (len, "len> cannot be converted: it is neither a function of Python, nor"),
        (3, "3 cannot be converted: it is neither a function of Python, nor"),
        (
            Halved().generated,
            r"generated in .*test_autograph.py:\d+ cannot be converted: generators",
        ),
        (without_source(), "hidden in <string>:1 cannot be converted: could not get source code"),
    ],
)
def test_an_error_of_a_conversion_names_the_function_and_its_place(
    entity: Any, message: str
) -> None:
    for convert in (tf.autograph.to_graph, tf.autograph.to_code):
        with pytest.raises(ValueError, match=message):
            convert(entity)


def test_functions_of_datasets_are_converted() -> None:
    def halved(x: Any) -> Any:
        if x % 2 == 0:
            return x // 2
        return -x

    dataset = tf.data.Dataset.range(5).map(halved).filter(lambda x: x > -2 and x != 1)
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        assert [session.run(element) for _ in range(3)] == [0, -1, 2]


def test_the_call_of_a_layer_is_converted() -> None:
    class Halving(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            while tf.reduce_max(x) > 1.0:
                x = x / 2.0
            return x

    assert list(run(Halving()(given_in_steps([3.0, 8.0])))) == [0.375, 1.0]


def test_a_loop_that_breaks_takes_no_further_item() -> None:
    def taken(items: Any) -> Any:
        for item in items:
            if item > 1:
                break
        return next(items)

    assert tf.autograph.to_graph(taken)(iter(range(9))) == 3


def test_a_function_that_calls_itself_is_converted() -> None:
    assert tf.autograph.to_graph(autograph_programs.factorial)(5) == 120


def test_a_condition_of_python_is_evaluated_once_for_each_iteration() -> None:
    def taken(items: Any) -> Any:
        total = 0
        while items.pop():
            total += 1
        return total, len(items)

    assert tf.autograph.to_graph(taken)([1, 0, 2, 3]) == (2, 1)
