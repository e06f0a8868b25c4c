"""`tf.cond` adds the same operations to the graph as TensorFlow does, with the same names."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf

FRAME = [
    "Switch cond/Switch (p:0, p:0)",
    "Identity cond/switch_t (cond/Switch:1)",
    "Identity cond/switch_f (cond/Switch:0)",
    "Identity cond/pred_id (p:0)",
]


def added(build: Callable[[Any, Any], Any]) -> list[str]:
    """Call `build` with a predicate `p` and a tensor `x`. Return the operations that it adds."""
    with tf.Graph().as_default() as graph:
        p, x = tf.placeholder(tf.bool, [], "p"), tf.placeholder(tf.float32, [2], "x")
        with tf.device("/cpu:0"):
            tf.Variable([1.0, 2.0], name="v")
        before = graph.version
        build(p, x)
        return [
            f"{op.type} {op.name} ({', '.join([*map(_name, op.inputs), *_control(op)])})"
            for op in graph.get_operations()[before:]
        ]


def _name(tensor: tf.Tensor) -> str:
    return tensor.name


def _control(op: tf.Operation) -> list[str]:
    return [f"^{other.name}" for other in op.control_inputs]


def test_a_tensor_from_outside_comes_through_a_switch() -> None:
    assert added(lambda p, x: tf.cond(p, lambda: x * x + 1.0, lambda: x)) == [
        *FRAME,
        "Switch cond/mul/Switch (x:0, cond/pred_id:0)",
        "Mul cond/mul (cond/mul/Switch:1, cond/mul/Switch:1)",
        "Const cond/add/y (^cond/switch_t)",
        "AddV2 cond/add (cond/mul:0, cond/add/y:0)",
        "Switch cond/Switch_1 (x:0, cond/pred_id:0)",
        "Merge cond/Merge (cond/Switch_1:0, cond/add:0)",
    ]


def test_an_operation_in_the_result_becomes_the_pivot_waiting_for_it() -> None:
    def build(p: Any, x: Any) -> None:
        (v,) = tf.global_variables()
        tf.cond(p, lambda: tf.assign(v, x).op, tf.no_op)

    assert added(build) == [
        *FRAME,
        "RefSwitch cond/Assign/Switch (v:0, cond/pred_id:0)",
        "Switch cond/Assign/Switch_1 (x:0, cond/pred_id:0)",
        "Assign cond/Assign (cond/Assign/Switch:1, cond/Assign/Switch_1:1)",
        "Identity cond/control_dependency (cond/switch_t:0, ^cond/Assign)",
        "NoOp cond/NoOp (^cond/switch_f)",
        "Identity cond/control_dependency_1 (cond/switch_f:0, ^cond/NoOp)",
        "Merge cond/Merge (cond/control_dependency_1:0, cond/control_dependency:0)",
    ]


def test_a_tensor_reaches_a_nested_conditional_through_both_switches() -> None:
    def build(p: Any, x: Any) -> None:
        q = tf.placeholder(tf.bool, [], "q")
        tf.cond(p, lambda: tf.cond(q, lambda: x + x, lambda: 0.0 * x), lambda: x)

    assert added(build)[1:] == [
        *FRAME,
        "Switch cond/cond/Switch/Switch (q:0, cond/pred_id:0)",
        "Switch cond/cond/Switch (cond/cond/Switch/Switch:1, cond/cond/Switch/Switch:1)",
        "Identity cond/cond/switch_t (cond/cond/Switch:1)",
        "Identity cond/cond/switch_f (cond/cond/Switch:0)",
        "Identity cond/cond/pred_id (cond/cond/Switch/Switch:1)",
        "Switch cond/cond/add/Switch (x:0, cond/pred_id:0)",
        "Switch cond/cond/add/Switch_1 (cond/cond/add/Switch:1, cond/cond/pred_id:0)",
        "AddV2 cond/cond/add (cond/cond/add/Switch_1:1, cond/cond/add/Switch_1:1)",
        "Const cond/cond/mul/x (^cond/cond/switch_f)",
        "Switch cond/cond/mul/Switch (cond/cond/add/Switch:1, cond/cond/pred_id:0)",
        "Mul cond/cond/mul (cond/cond/mul/x:0, cond/cond/mul/Switch:0)",
        "Merge cond/cond/Merge (cond/cond/mul:0, cond/cond/add:0)",
        "Switch cond/Switch_1 (x:0, cond/pred_id:0)",
        "Merge cond/Merge (cond/Switch_1:0, cond/cond/Merge:0)",
    ]


def test_constants_wait_for_the_control_dependencies_and_for_their_side() -> None:
    def build(p: Any, x: Any) -> None:
        first = tf.no_op("first")

        def yes() -> Any:
            with tf.control_dependencies([x * 2.0]):
                return tf.constant(5.0, name="five")

        with tf.control_dependencies([first]):
            tf.cond(p, yes, lambda: tf.constant(6.0, name="six"))

    operations = added(build)
    assert "Switch cond/Switch (p:0, p:0, ^first)" in operations
    # The multiplication, which `five` waits for, is on its side already.
    assert "Const cond/five (^first, ^cond/mul)" in operations
    assert "Const cond/six (^first, ^cond/switch_f)" in operations


def test_a_variable_created_in_a_branch_is_outside_the_branch() -> None:
    operations = added(lambda p, x: tf.cond(p, lambda: tf.Variable(1.0, name="in"), lambda: 0.0))
    assert "VariableV2 cond/in ()" in operations
    assert "Switch cond/Switch_1 (cond/in/read:0, cond/pred_id:0)" in operations


def test_results_keep_their_structure() -> None:
    with tf.Graph().as_default():
        p, x = tf.placeholder(tf.bool, []), tf.constant([1.0, 2.0])
        nested = tf.cond(p, lambda: {"b": (x, 2), "a": [x]}, lambda: {"b": (x, 3), "a": [x]})
        assert list(nested) == ["b", "a"]
        assert (type(nested["b"]), type(nested["a"])) == (tuple, list)
        assert nested["b"][1].dtype is tf.int32
        assert tf.cond(p, lambda: [x], lambda: [x]).shape == [2]
        (single,) = tf.cond(p, lambda: [x], lambda: [x], strict=True)
        assert single.shape == [2]
        slices = tf.cond(
            p,
            lambda: tf.IndexedSlices(x, tf.constant([0, 1])),
            lambda: tf.IndexedSlices(x * 2.0, tf.constant([1, 2])),
        )
        assert isinstance(slices, tf.IndexedSlices)
        merged = tf.cond(p, lambda: tf.zeros([2, 3]), lambda: tf.zeros([4, 3]))
        assert merged.shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((True, lambda: 1, lambda: 2), TypeError, "'pred' must not be a Python bool."),
        ((1, lambda: 1, lambda: 2), TypeError, "bool"),
        (([True], lambda: 1, lambda: 2), ValueError, "must be rank 0 but is rank 1"),
        ((None, 1, lambda: 2), TypeError, "'true_fn' must be callable."),
        ((None, lambda: 1, 2), TypeError, "'false_fn' must be callable."),
        ((None, lambda: 1), TypeError, "'false_fn' argument required"),
        ((None, lambda: 1, lambda: None), ValueError, "'false_fn' must have a return value."),
        ((None, lambda: 1, lambda: 2.0), ValueError, "Received int32 from 'true_fn' and float32"),
        ((None, lambda: [1, 2], lambda: [2]), ValueError, "same nested structure"),
        ((None, lambda: (1, 2), lambda: [2, 3]), TypeError, "same nested structure"),
        ((None, lambda: {"a": 1}, lambda: {"b": 1}), ValueError, "same set of keys"),
        ((None, list, list), ValueError, "must return at least one result"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with tf.Graph().as_default():
        pred, *functions = arguments
        with pytest.raises(error, match=message):
            tf.cond(tf.placeholder(tf.bool, []) if pred is None else pred, *functions)
        # The failed call leaves the branch: the next operation is outside.
        assert tf.no_op().control_inputs == []


def test_the_older_argument_names_fn1_and_fn2_are_accepted() -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool, [])
        assert tf.cond(p, fn1=lambda: 1, fn2=lambda: 2).op.type == "Merge"
        with pytest.raises(TypeError, match="'false_fn' and 'fn2' may not be set simultaneously"):
            tf.cond(p, lambda: 1, lambda: 2, fn2=lambda: 2)


@pytest.mark.parametrize(
    "pairs, message",
    [
        (3, "must be a list, tuple, or dict"),
        ([1], "must be a 2-tuple. Received 1"),
        ([(True, int)], "pred must be a Tensor, got: True"),
        ("not callable", "must be callable"),
        ("no bool", "pred must be of type bool: Const:0"),
    ],
)
def test_wrong_cases_are_refused(pairs: Any, message: str) -> None:
    with tf.Graph().as_default():
        if isinstance(pairs, str):
            pairs = [(tf.constant(1 if pairs == "no bool" else True), 1)]
        with pytest.raises(TypeError, match=message):
            tf.case(pairs)
