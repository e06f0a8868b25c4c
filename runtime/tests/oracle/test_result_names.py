"""The names of results, by which programs find tensors in a graph, are those of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "batch normalization": lambda tf, x: tf.nn.batch_normalization(x, x, x, x, x, 0.1),
    "without an offset": lambda tf, x: tf.nn.batch_normalization(x, x, x, None, None, 0.1),
    "crelu": lambda tf, x: tf.nn.crelu(x),
    "zero fraction": lambda tf, x: tf.nn.zero_fraction(x),
    "Poisson loss": lambda tf, x: tf.nn.log_poisson_loss(x, x),
    "sparse labels": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[0, 1, 2], logits=x
    ),
    "global norm": lambda tf, x: tf.global_norm([x]),
    "one tensor joined": lambda tf, x: tf.concat([x], 1),
    "two tensors joined": lambda tf, x: tf.concat([x, x], 1),
    "turned matrix": lambda tf, x: tf.matrix_transpose(x),
    "ones": lambda tf, x: tf.ones_like(x),
    "zeros": lambda tf, x: tf.zeros_like(x),
    "zeros of another dtype": lambda tf, x: tf.zeros_like(x, tf.int32),
    "floored quotients": lambda tf, x: tf.floordiv(x, x),
    "named quotients": lambda tf, x: tf.floordiv(x, x, name="floored"),
    "safe quotients": lambda tf, x: tf.div_no_nan(x, x),
    "roots of segments": lambda tf, x: tf.unsorted_segment_sqrt_n(x, [0, 1, 1], 2),
    "drawn classes": lambda tf, x: tf.multinomial(x, 2),
    "categories": lambda tf, x: tf.random.categorical(x, 2),
    "root of a mean": lambda tf, x: tf.metrics.root_mean_squared_error(x, x)[0],
    "unit matrix": lambda tf, x: tf.eye(3),
    "diagonals": lambda tf, x: tf.matrix_diag(x),
    "parts of diagonals": lambda tf, x: tf.matrix_diag_part(x),
    "new diagonals": lambda tf, x: tf.matrix_set_diag(x, x[0]),
    "determinant": lambda tf, x: tf.linalg.logdet(x),
    "beta function": lambda tf, x: tf.math.lbeta(x),
    "sparse product": lambda tf, x: tf.sparse_tensor_dense_matmul(
        tf.SparseTensor([[0, 0]], [1.0], [2, 3]), x
    ),
    "middle of an image": lambda tf, x: tf.image.central_crop(tf.stack([x, x, x]), 0.5),
    "middle of images": lambda tf, x: tf.image.central_crop(tf.stack([[x, x, x]]), 0.5),
    "operator and function": lambda tf, x: [tf.multiply(x, x), x * x, tf.multiply(x, x)],
    "rows": lambda tf, x: tf.gather(x, [1, 0]),
    "named rows": lambda tf, x: tf.gather(x, [1, 0], name="rows"),
    "rows of a variable": lambda tf, x: tf.gather(tf.get_variable("v", [2, 3]), [1, 0]),
    "looked up rows": lambda tf, x: tf.nn.embedding_lookup(x, [1, 0]),
    "looked up rows of a variable": lambda tf, x: tf.nn.embedding_lookup(
        tf.get_variable("v", [2, 3]), [1, 0], name="rows"
    ),
    "short rows": lambda tf, x: tf.nn.embedding_lookup(x, [1, 0], max_norm=1.0),
    "norm": lambda tf, x: tf.norm(x),
    "norms": lambda tf, x: tf.norm(x, axis=1),
    "sums of sizes": lambda tf, x: tf.norm(x, 1, axis=1),
    "largest sizes": lambda tf, x: tf.norm(x, np.inf, axis=[0, 1]),
    "third roots": lambda tf, x: tf.norm(x, 3, axis=0),
    "kept axes": lambda tf, x: tf.norm(x, axis=0, keepdims=True),
    "large and small scopes": lambda tf, x: [_within(tf, x, name) for name in ("A", "a", "b", "B")],
}


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda tf, x: [x + 1.0, 1.0 + x, x + x],
    "joined strings": lambda tf, x: tf.constant("a") + "b",
    "size of complex numbers": lambda tf, x: abs(tf.complex(x, x)),
    "uniform numbers": lambda tf, x: tf.random_uniform([2, 3], 1.0, 2.0),
    "normal numbers": lambda tf, x: tf.random_normal([2, 3]),
    "bounded numbers": lambda tf, x: tf.truncated_normal([2, 3]),
    "initial weights": lambda tf, x: tf.get_variable("w", [2, 3]),
    "logistic loss": lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=x),
    "weighted loss": lambda tf, x: tf.nn.weighted_cross_entropy_with_logits(x, x, 2.0),
    "batch normalization": lambda tf, x: tf.nn.batch_normalization(x, x, x, x, x, 0.1),
    "fused normalization": lambda tf, x: tf.compat.v1.nn.fused_batch_norm(
        tf.reshape(x, [1, 1, 3, 3]), x[0], x[0]
    ),
    "sum of an unknown rank": lambda tf, x: tf.reduce_sum(tf.placeholder(tf.float32)),
    "counted": lambda tf, x: tf.count_nonzero(x),
    "either": lambda tf, x: tf.logical_xor(x > 1.0, x > 2.0),
    "sequences": lambda tf, x: tf.nn.conv1d(x[None], x[None], 1, "SAME"),
    "polynomial": lambda tf, x: tf.math.polyval([x, x], x),
    "adjoint": lambda tf, x: tf.linalg.adjoint(x),
    "compared variable": lambda tf, x: tf.get_variable("v", [], use_resource=True) < x,
    "global step": lambda tf, x: tf.train.create_global_step(),
}


def _within(tf: Any, x: Any, scope: str) -> Any:
    with tf.name_scope(scope):
        return x + 1.0


def names(tf: Any, results: Callable[[Any, Any], Any]) -> list[str]:
    with tf.Graph().as_default():
        found = results(tf, tf.placeholder(tf.float32, [3, 3]))
        return [each.name for each in (found if isinstance(found, list) else [found])]


@pytest.mark.parametrize("results", RESULTS.values(), ids=RESULTS)
def test_results_have_the_names_of_tensorflow(v1: Any, results: Callable[[Any, Any], Any]) -> None:
    assert names(tf, results) == names(v1, results)


def operations(tf: Any, results: Callable[[Any, Any], Any]) -> list[tuple[str, str]]:
    """Return the names and types of all operations. The functions of 1.15 still add by Add."""
    with tf.Graph().as_default() as graph:
        results(tf, tf.placeholder(tf.float32, [3, 3]))
        return sorted((op.name, op.type.removesuffix("V2")) for op in graph.get_operations())


@pytest.mark.parametrize("results", OPERATIONS.values(), ids=OPERATIONS)
def test_inner_operations_have_the_names_and_types_of_tensorflow(
    v1: Any, results: Callable[[Any, Any], Any]
) -> None:
    assert operations(tf, results) == operations(v1, results)


CLIPPED: dict[str, tuple[Callable[[Any], Any], set[str]]] = {
    "norm": (
        lambda x: tf.clip_by_norm(x, 1.0, name="c"),
        {
            "c", "c/mul", "c/Const", "c/Sum", "c/Greater/y", "c/Greater", "c/ones_like", "c/Select",
            "c/Sqrt", "c/Select_1", "c/mul_1/y", "c/mul_1", "c/Maximum/y", "c/Maximum", "c/truediv",
        },
    ),
    "global norm": (
        lambda x: tf.clip_by_global_norm([x], 1.0, use_norm=tf.constant(2.0, name="n"), name="c"),
        {
            "n", "c/truediv/x", "c/truediv", "c/Const", "c/truediv_1/y", "c/truediv_1", "c/Minimum",
            "c/mul/x", "c/mul", "c/IsFinite", "c/Const_1", "c/Select", "c/mul_1", "c/c/_0",
        },
    ),
    "sum": (
        lambda x: tf.reduce_logsumexp(x, name="c"),
        {
            "c/Max", "c/Const", "c/IsFinite", "c/zeros_like", "c/Select", "c/StopGradient", "c/Sub",
            "c/Exp", "c/Const_1", "c/Sum", "c/Log", "c/Shape", "c/Reshape", "c/Add",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("build, expected", CLIPPED.values(), ids=CLIPPED)
def test_operations_have_the_names_of_tensorflow_1(
    build: Callable[[Any], Any], expected: set[str]
) -> None:
    """TensorFlow 2 has other operations. Those of 1.15 are listed here."""
    with tf.Graph().as_default() as graph:
        build(tf.placeholder(tf.float32, [2], name="x"))
        assert {op.name for op in graph.get_operations()} - {"x"} == expected


def test_a_sum_of_strings_is_an_older_operation() -> None:
    assert (tf.constant("a") + "b").op.type == "Add"


def test_states_of_zeros_have_a_scope_of_their_own() -> None:
    """Their names would otherwise shift the names of the tensors of the program."""
    with tf.Graph().as_default() as graph:
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(4)])
        cell.zero_state(2, tf.float32)
        assert {op.name.split("/")[0] for op in graph.get_operations()} == {"MultiRNNCellZeroState"}


@pytest.mark.parametrize("key", ["keep_prob", "rate"])
def test_a_dropout_has_the_names_of_tensorflow_1(key: str) -> None:
    """TensorFlow 2 has another operation. The names are read in python/ops/nn_ops.py of 1.15."""
    result = tf.nn.dropout(tf.ones([2, 2]), **{key: 0.5})
    inputs = [tensor.op.name for tensor in result.op.inputs]
    assert (result.op.name, inputs) == ("dropout/mul_1", ["dropout/mul", "dropout/Cast"])


@pytest.mark.parametrize("kind", [None, "int32"])
def test_ones_and_zeros_of_a_known_shape_need_no_value(v1: Any, kind: str | None) -> None:
    for module in (tf, v1):
        with module.Graph().as_default(), module.Session() as session:
            unfed = module.placeholder(module.float32, [2])
            both = [module.zeros_like(unfed, kind), module.ones_like(unfed, kind)]
            found = session.run(both)
        assert [each.tolist() for each in found] == [[0, 0], [1, 1]]


def test_variables_that_differ_only_in_case_have_two_names(v1: Any) -> None:
    """Checkpoints have these names."""
    found = []
    for module in (tf, v1):
        with module.Graph().as_default():
            for scope in ("L", "l"):
                with module.variable_scope(scope):
                    module.get_variable("W", [1])
                    module.get_variable("w", [1])
            found.append([variable.name for variable in module.global_variables()])
    assert found[0] == found[1] == ["L/W:0", "L/w_1:0", "l/W_2:0", "l/w_3:0"]


def test_numpy_does_not_take_a_tensor_for_an_object(v1: Any) -> None:
    for module in (tf, v1):
        with module.Graph().as_default():
            tensor = module.placeholder(module.float32, [2])
            for call in (np.array, np.mean, lambda x: np.array([x, x])):
                with pytest.raises(NotImplementedError, match="Cannot convert a symbolic"):
                    call(tensor)
            assert isinstance(np.ones(2, np.float32) + tensor, module.Tensor)


def test_gradients_are_summed_in_the_order_of_tensorflow(v1: Any) -> None:
    """The order decides the names of the sums, and the device of a colocated sum."""
    found = []
    for module in (tf, v1):
        with module.Graph().as_default() as graph:
            w, v = (module.get_variable(name, [2, 2]) for name in "wv")
            x = module.placeholder(module.float32, [2, 2])
            first = module.tanh(module.matmul(x, w) + module.matmul(w, v))
            loss = module.reduce_mean(first * v + module.matmul(first, w))
            module.gradients(loss, [w, v], colocate_gradients_with_ops=True)
            sums = [op for op in graph.get_operations() if op.type == "AddN"]
            found.append(
                [
                    (op.name, op.colocation_groups(), [tensor.op.name for tensor in op.inputs])
                    for op in sums
                ]
            )
    assert len(found[0]) == 3
    assert found[0] == found[1]


def test_rows_of_a_resource_variable_have_the_names_of_tensorflow_1_15() -> None:
    variable = tf.get_variable("v", [2, 3], use_resource=True)
    assert tf.gather(variable, [1, 0], name="rows").name == "Identity:0"
    assert tf.nn.embedding_lookup(variable, [1, 0]).name == "embedding_lookup/Identity_1:0"
    assert [op.type for op in tf.get_default_graph().get_operations()].count("ResourceGather") == 2


def test_slices_of_a_resource_variable_are_read_where_the_variable_is() -> None:
    variable = tf.get_variable("v", [2, 3], use_resource=True)
    slices = tf.gather_nd(variable, [[1, 0]], name="slices")
    assert (slices.name, slices.op.inputs[0].name) == ("Identity:0", "slices:0")
    assert slices.op.inputs[0].op.type == "ResourceGatherNd"
    (gradient,) = tf.gradients(slices, variable)
    with tf.Session() as session:
        session.run(variable.initializer)
        value, found, dense = session.run([variable, slices, tf.convert_to_tensor(gradient)])
    np.testing.assert_array_equal(found, value[1:, 0])
    np.testing.assert_array_equal(dense, [[0, 0, 0], [1, 0, 0]])
