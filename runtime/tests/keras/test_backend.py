"""The functions of `tf.keras.backend`, compared with NumPy."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

K = tf.keras.backend
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
Y = RANDOM.normal(size=(2, 4, 5)).astype(np.float32)


def run(tensor: Any, *fed: tuple[Any, Any]) -> Any:
    with tf.Session() as session:
        return session.run(tensor, dict(fed))


def softmax(x: Any, axis: int) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


CASES: dict[str, tuple[Any, Any]] = {
    "abs": (lambda x: K.abs(x), np.abs(X)),
    "expand_dims": (lambda x: K.expand_dims(x=x), X[..., None]),
    "pow": (lambda x: K.pow(x=x, a=2.0), X**2),
    "softplus": (lambda x: K.softplus(x=x), np.log1p(np.exp(X))),
    "softsign": (lambda x: K.softsign(x=x), X / (np.abs(X) + 1)),
    "ones_like": (lambda x: K.ones_like(x=x), np.ones_like(X)),
    "zeros_like": (lambda x: K.zeros_like(x=x), np.zeros_like(X)),
    "shape": (lambda x: K.shape(x=x), np.array(X.shape)),
    "stop_gradient": (lambda x: K.stop_gradient(variables=[x])[0], X),
    "sqrt of negative numbers": (lambda x: K.sqrt(x), np.sqrt(np.maximum(X, 0))),
    "clip": (lambda x: K.clip(x, -0.5, 0.25), np.clip(X, -0.5, 0.25)),
    "clip without a top": (lambda x: K.clip(x, 0, None), np.maximum(X, 0)),
    "clip with exchanged ends": (lambda x: K.clip(x, 1, 0), np.ones_like(X)),
    "softmax": (lambda x: K.softmax(x, axis=1), softmax(X, 1)),
    "sum": (lambda x: K.sum(x, axis=[0, 2], keepdims=True), X.sum((0, 2), keepdims=True)),
    "prod": (lambda x: K.prod(x, axis=-1), X.prod(-1)),
    "max": (lambda x: K.max(x, axis=1), X.max(1)),
    "min": (lambda x: K.min(x), X.min()),
    "mean": (lambda x: K.mean(x, axis=1, keepdims=True), X.mean(1, keepdims=True)),
    "mean of truth values": (lambda x: K.mean(x > 0), np.mean(X > 0)),
    "var": (lambda x: K.var(x, axis=1), X.var(1)),
    "var of all": (lambda x: K.var(x), X.var()),
    "std": (lambda x: K.std(x, axis=(0, 2), keepdims=True), X.std((0, 2), keepdims=True)),
    "any": (lambda x: K.any(x > 2, axis=0), (X > 2).any(0)),
    "all": (lambda x: K.all(x), np.all(X)),
    "argmax": (lambda x: K.argmax(x), X.argmax(-1)),
    "argmin": (lambda x: K.argmin(x, axis=0), X.argmin(0)),
    "cumsum": (lambda x: K.cumsum(x, axis=1), X.cumsum(1)),
    "l2_normalize": (
        lambda x: K.l2_normalize(x, axis=-1),
        X / np.linalg.norm(X, axis=-1, keepdims=True),
    ),
    "switch of elements": (lambda x: K.switch(x > 0, x, -2 * x), np.where(X > 0, X, -2 * X)),
    "switch of rows": (
        lambda x: K.switch(x[:, 0, 0] > 0, x, -x),
        np.where(X[:, :1, :1] > 0, X, -X),
    ),
    "switch of one of two functions": (
        lambda x: K.switch(x[0, 0, 0] > 0, lambda: x, lambda: -x),
        X if X[0, 0, 0] > 0 else -X,
    ),
    "concatenate": (lambda x: K.concatenate([x, x], axis=-2), np.concatenate([X, X], 1)),
    "stack": (lambda x: K.stack([x, x], axis=1), np.stack([X, X], 1)),
    "flatten": (lambda x: K.flatten(x), X.ravel()),
    "batch_flatten": (lambda x: K.batch_flatten(x), X.reshape(2, -1)),
    "permute_dimensions": (lambda x: K.permute_dimensions(x, (1, 0, 2)), X.transpose(1, 0, 2)),
    "transpose": (lambda x: K.transpose(x), X.transpose()),
    "squeeze": (lambda x: K.squeeze(x[:, :1], 1), X[:, 0]),
    "tile": (lambda x: K.tile(x, [1, 2, 1]), np.tile(X, [1, 2, 1])),
    "repeat": (lambda x: K.repeat(x[:, 0], 3), np.repeat(X[:, :1], 3, axis=1)),
    "repeat_elements": (lambda x: K.repeat_elements(x, 3, axis=1), np.repeat(X, 3, axis=1)),
    "reverse": (lambda x: K.reverse(x, [0, 2]), X[::-1, :, ::-1]),
    "gather": (lambda x: K.gather(x, [1, 1, 0]), X[[1, 1, 0]]),
    "one_hot": (lambda x: K.one_hot(K.argmax(x, axis=-1), 4), np.eye(4)[X.argmax(-1)]),
    "bias_add": (lambda x: K.bias_add(x, K.constant([1, 2, 3, 4])), X + np.array([1, 2, 3, 4])),
    "bias_add of channels that come first": (
        lambda x: K.bias_add(x, K.constant([1, 2, 3]), "channels_first"),
        X + np.reshape([1, 2, 3], (3, 1)),
    ),
    "bias_add with a bias for each place": (lambda x: K.bias_add(x, K.constant(X[0])), X + X[0]),
    "bias_add with a bias for each place of channels that come first": (
        lambda x: K.bias_add(x, K.constant(X[0].T), "channels_first"),
        X + X[0],
    ),
    "arange of nothing": (lambda x: K.arange(-3), []),
    "clip without a bottom": (lambda x: K.clip(x, None, 0.5), np.minimum(X, 0.5)),
    "arange": (lambda x: K.arange(5) + K.arange(2, 12, 2), [2, 5, 8, 11, 14]),
    "cast": (lambda x: K.cast(x > 0, "float32"), np.float32(X > 0)),
    "gradients": (lambda x: K.gradients(K.sum(K.square(x)), [x])[0], 2 * X),
    "dot of a matrix": (lambda x: K.dot(x, K.constant(Y[0])), X @ Y[0]),
    "dot of batches": (lambda x: K.dot(x, K.constant(Y)), np.tensordot(X, Y, [2, 1])),
    "batch_dot": (lambda x: K.batch_dot(x, K.constant(Y)), X @ Y),
    "batch_dot of given axes": (
        lambda x: K.batch_dot(x, K.constant(X), axes=(2, 2)),
        np.einsum("bij,bkj->bik", X, X),
    ),
    "batch_dot of vectors": (
        lambda x: K.batch_dot(x[:, 0], x[:, 1], axes=1),
        (X[:, 0] * X[:, 1]).sum(1, keepdims=True),
    ),
    "batch_dot of a vector": (
        lambda x: K.batch_dot(x, x[:, 0]),
        np.einsum("bij,bj->bi", X, X[:, 0]),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", [[2, 3, 4], [None, 3, 4], [None, None, None]])
def test_functions_give_the_values_of_numpy(case: str, shape: list[int | None]) -> None:
    function, expected = CASES[case]
    x = tf.placeholder(tf.float32, shape)
    result = function(x)
    found = run(result, (x, X))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert result.shape.is_compatible_with(np.shape(expected))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: K.batch_dot(K.constant([1.0]), K.constant([1.0])), "rank < 2"),
        (lambda: K.batch_dot(K.constant(X), K.constant(Y), axes=0), "over axis 0"),
        (lambda: K.batch_dot(K.constant(X), K.constant(Y), axes=(1, 1)), "3 != 4"),
        (lambda: K.batch_dot(K.constant(X), K.constant(Y), axes=([1], 1)), "Multiple target"),
        (lambda: K.bias_add(K.constant(X), K.constant(X)), "Unexpected bias dimensions 3"),
    ],
)
def test_wrong_axes_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_variance_needs_no_rank_and_a_switch_says_that_it_does() -> None:
    x = tf.placeholder(tf.float32)
    np.testing.assert_allclose(run(K.std(x), (x, X)), X.std(), rtol=1e-5)
    with pytest.raises(ValueError, match="Call set_shape"):
        K.switch(tf.placeholder(tf.bool, [None]), x, x)


def test_sparse_tensors_are_recognised_joined_and_multiplied() -> None:
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    dense = np.array([[0, 2], [3, 0]], np.float32)
    assert K.is_sparse(sparse)
    assert not K.is_sparse(K.constant(1))
    assert K.is_sparse(K.concatenate([sparse, sparse]))
    values = run([K.to_dense(sparse), K.concatenate([sparse, K.constant(dense)]),
                  K.dot(sparse, K.constant(dense))])  # fmt: skip
    for found, expected in zip(
        values, (dense, np.hstack([dense, dense]), dense @ dense), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_types_have_names_and_constants_the_type_floatx() -> None:
    assert K.dtype(K.constant([1, 2])) == "float32"
    assert K.dtype(K.constant([1, 2], dtype="int64")) == "int64"
    assert K.cast_to_floatx([1, 2]).dtype == np.float32


@pytest.mark.e2e
def test_variables_and_placeholders_have_the_type_floatx() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = [K.variable([1, 2], name="v"), K.zeros((2,), name="z"), K.ones([2, 1], "int32")]
        assert [each.dtype.base_dtype.name for each in made] == ["float32", "float32", "int32"]
        assert [each.name for each in made[:2]] == ["v:0", "z_1:0"]
        assert all(tf.contrib.framework.is_tensor(each) for each in made)
        assert set(made) == set(tf.trainable_variables())
        session.run(tf.global_variables_initializer())
        session.run(K.update(made[1], K.update_add(made[0], [1.0, 1.0])))
        session.run(K.update_sub(made[2], [[1], [0]]))
        assert [each.tolist() for each in session.run(made)] == [[2, 3], [2, 3], [[0], [1]]]

        fed = K.placeholder(ndim=2)
        assert (fed.dtype, fed.shape.as_list()) == (tf.float32, [None, None])
        assert K.placeholder((3, None), dtype="int64").shape.as_list() == [3, None]
        assert isinstance(K.placeholder((3, 1), sparse=True), tf.SparseTensor)
        assert isinstance(K.zeros(tf.shape(fed)), tf.Tensor)


def test_names_and_numbers_of_the_graph() -> None:
    assert K.backend() == "tensorflow"
    assert [K.get_uid("part"), K.get_uid("part"), K.get_uid("other")] == [1, 2, 1]
    K.reset_uids()
    assert K.get_uid("part") == 1
    with K.name_scope("outer"):
        assert tf.constant(1, name="x").name == "outer/x:0"
    assert K.count_params(K.zeros((3, 4))) == 12


def test_a_tensor_of_keras_comes_from_a_layer() -> None:
    inputs = tf.keras.layers.Input((3,))
    outputs = tf.keras.layers.Dense(2)(inputs)
    assert K.is_keras_tensor(inputs)
    assert K.is_keras_tensor(outputs)
    assert not K.is_keras_tensor(tf.constant(1))
    assert not K.is_keras_tensor(K.variable(1))
    with pytest.raises(ValueError, match="Expected a symbolic tensor"):
        K.is_keras_tensor(np.ones(2))


def test_eval_gives_values_of_variables_and_tensors() -> None:
    np.testing.assert_array_equal(K.eval(K.eye(2) * 3), [[3, 0], [0, 3]])
    variable = K.variable([1.0, 2.0])
    assert K.eval(variable).tolist() == [1, 2]
    sparse = tf.SparseTensor([[0, 1]], [5.0], [1, 2])
    assert K.eval(sparse).tolist() == [[0, 5]]


def test_a_moving_average_starts_without_a_bias() -> None:
    average = K.variable(0.0)
    update = K.moving_average_update(average, K.constant(4.0), 0.9)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(update) == pytest.approx(4.0)
        assert session.run(average) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("draw", "bounds", "mean"),
    [
        (lambda seed: K.random_normal((4000,), 2.0, 0.1, seed=seed), (1, 3), 2),
        (lambda seed: K.random_uniform((4000,), -1.0, 3.0, seed=seed), (-1, 3), 1),
        (lambda seed: K.truncated_normal((4000,), 1.0, 0.5, seed=seed), (0, 2), 1),
        (lambda seed: K.random_binomial((4000,), 0.25, seed=seed), (0, 1), 0.25),
        (lambda seed: K.random_uniform_variable((4000,), 0, 2, seed=seed), (0, 2), 1),
        (lambda seed: K.random_normal_variable((4000,), 0, 0.1, seed=seed), (-1, 1), 0),
    ],
)
def test_random_numbers_follow_their_seed(draw: Any, bounds: Any, mean: float) -> None:
    first, again = K.eval(draw(5)), K.eval(draw(5))
    np.testing.assert_array_equal(first, again)
    assert first.dtype == np.float32
    assert bounds[0] <= first.min() <= first.max() <= bounds[1]
    assert first.mean() == pytest.approx(mean, abs=0.1)
    np.random.seed(3)
    by_numpy = K.eval(draw(None))
    np.random.seed(3)
    np.testing.assert_array_equal(by_numpy, K.eval(draw(None)))


def test_a_block_has_a_learning_phase_of_its_own() -> None:
    before = K.learning_phase()
    with K.learning_phase_scope(1):
        assert K.learning_phase() == 1
    assert K.learning_phase() is before
    with pytest.raises(ValueError, match="0 or 1"), K.learning_phase_scope(2):
        pass


def test_a_program_may_initialize_variables_itself() -> None:
    variable = K.variable(3.0)
    K.manual_variable_initialization(True)
    try:
        with pytest.raises(tf.errors.FailedPreconditionError):
            K.get_session().run(variable)
    finally:
        K.manual_variable_initialization(False)
    assert K.get_value(variable) == 3


def test_labels_become_a_sparse_tensor() -> None:
    labels = K.ctc_label_dense_to_sparse(K.constant([[4, 5], [6, 7]], "int32"), K.constant([1, 2]))
    found = run(labels)
    assert found.indices.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert found.values.tolist() == [4, 6, 7]
    assert found.dense_shape.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: K.conv2d(K.zeros((1, 4, 4, 1)), K.ones((2, 2, 1, 1)), padding="full"), "padding"),
        (lambda: K.pool2d(K.zeros((1, 4, 4, 1)), (2, 2), data_format="rows"), "data_format"),
        (lambda: K.pool2d(K.zeros((1, 4, 4, 1)), (2, 2), pool_mode="sum"), "pooling mode"),
        (lambda: K.pool2d(K.zeros((1, 4, 4, 1)), (2,)), "pool_size"),
        (lambda: K.spatial_2d_padding(K.zeros((1, 4, 4, 1)), ((1, 1),)), "2 pairs"),
        (lambda: K.resize_images(K.zeros((1, 4, 4, 1)), 2, 2, None, "cubic"), "cubic"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_inputs_of_a_function_may_be_a_dictionary_one_tensor_or_given_as_tensors() -> None:

    x, y = K.placeholder(()), K.placeholder(())
    assert K.function({"y": y, "x": x}, [x - y])({"x": 5.0, "y": 3.0}) == [2.0]
    total = K.variable(1.0)
    add = K.function(x, x * x, updates=[(total, total + x)])
    assert add(4.0) == 16.0
    assert K.get_value(total) == 5.0
    assert K.function([x, y], [x + y])([total, tf.constant(2.0)]) == [7.0]
    given = {"y": 3.0, "x": 5.0}
    assert K.function([y, x], [x - y])(given.values()) == [2.0]
    rows = K.placeholder((2, 2))
    np.testing.assert_array_equal(K.function([rows], rows)([[[1, 2], [3, 4]]]), [[1, 2], [3, 4]])


def test_a_sparse_matrix_becomes_a_sparse_tensor() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    tensor = K.variable(scipy.eye(3, format="dia"), "float32")
    assert K.is_sparse(tensor)
    np.testing.assert_array_equal(K.eval(K.to_dense(tensor)), np.eye(3))
