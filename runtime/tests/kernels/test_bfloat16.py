"""bfloat16 on CPUs and on devices: results are computed in single precision and rounded once."""

import pathlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import strict

import capstan as tf
from capstan.core import dtypes, recording
from capstan.framework.raw import raw
from capstan.hardware import cuda_text

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture(params=["/cpu:0", "/gpu:0"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    with strict.installed(), tf.Graph().as_default(), tf.device(request.param):
        yield request.param


def evaluate(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def fed(*shape: int | None) -> Any:
    return tf.placeholder(tf.bfloat16, shape)


@pytest.mark.usefixtures("place")
def test_a_sum_is_rounded_once() -> None:
    x = fed(1000)
    ones = np.ones(1000, BFLOAT16)
    # In bfloat16, 256 + 1 is 256.
    assert evaluate([tf.reduce_sum(x), tf.reduce_mean(x)], {x: ones}) == [1000, 1]


@pytest.mark.usefixtures("place")
def test_a_product_of_matrices_adds_in_single_precision() -> None:
    x, batch = fed(2, 1000), fed(3, 2, 1000)
    products = [
        tf.matmul(x, x, transpose_b=True),
        tf.matmul(batch, batch, transpose_b=True),
        raw.BatchMatMul(batch, batch, adj_y=True),
    ]
    feeds = {x: np.ones((2, 1000), BFLOAT16), batch: np.ones((3, 2, 1000), BFLOAT16)}
    for product in evaluate(products, feeds):
        assert product.dtype == BFLOAT16
        np.testing.assert_array_equal(product.astype(np.float32), 1000)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
def test_a_variable_is_assigned_changed_and_read(is_resource: bool) -> None:
    v = tf.get_variable(
        "v", initializer=tf.cast([[1.5, -2], [0.25, 3]], tf.bfloat16), use_resource=is_resource
    )
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(tf.assign_add(v, tf.ones_like(v)))
        session.run(tf.assign_sub(v, 2 * tf.ones([2, 2], tf.bfloat16)))
        found = session.run(v)
    assert found.dtype == BFLOAT16
    assert found.tolist() == [[0.5, -3], [-0.75, 2]]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("method", ["scatter_add", "scatter_sub", "scatter_max", "scatter_min"])
def test_rows_of_a_variable_are_changed(method: str) -> None:
    # TensorFlow has no kernels of GPUs that add numbers of 16 bits to rows.
    with tf.device("/cpu:0" if method in ("scatter_add", "scatter_sub") else None):
        v = tf.get_variable("v", initializer=tf.zeros([3, 2], tf.bfloat16), use_resource=False)
        indices = tf.constant([2, 0, 2])
        rows = tf.constant([[1, 2], [3, -4], [5, 6]], tf.bfloat16)
        changed = getattr(tf, method)(v, indices, rows)
    expected = np.zeros((3, 2), np.float32)
    ufunc = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum}[method[8:]]
    ufunc.at(expected, [2, 0, 2], [[1, 2], [3, -4], [5, 6]])
    np.testing.assert_array_equal(evaluate(changed).astype(np.float32), expected)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("is_shape_known", [True, False])
def test_a_chain_of_elementwise_functions_is_rounded(is_shape_known: bool) -> None:
    shape = (4, 3) if is_shape_known else (None, 3)
    x, bias = fed(*shape), fed(3)
    y = tf.nn.selu(tf.nn.bias_add(x, bias) * 0.5 + 1)
    values = np.linspace(-3, 3, 12).reshape(4, 3).astype(BFLOAT16), np.ones(3, BFLOAT16)
    wide = values[0].astype(np.float32) + 1
    wide = wide * 0.5 + 1
    expected = np.where(wide < 0, 1.7580993 * np.expm1(wide), 1.050701 * wide)
    found = evaluate(y, dict(zip((x, bias), values, strict=True)))
    assert found.dtype == BFLOAT16
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=2e-2, atol=1e-2)


def test_the_kernel_of_a_chain_computes_in_single_precision() -> None:
    recorder = recording.Recorder(np.float32)
    x = recorder.input((2,), BFLOAT16)
    half = recorder.constant(0.5, BFLOAT16).astype(np.float32)
    program = recorder.program([np.multiply(x.astype(np.float32), half).astype(BFLOAT16)])
    text = cuda_text.write(program)
    assert (text.inputs, text.results) == ("bfloat16 x0", "bfloat16 y0")
    assert text.body.splitlines()[0] == "typedef float C;"
    assert text.body.splitlines()[-1].startswith("y0 = (bfloat16)(")
    (result,) = program.run([np.array([3, 5], BFLOAT16)])
    assert (result.dtype, result.tolist()) == (BFLOAT16, [1.5, 2.5])


@pytest.mark.usefixtures("place")
def test_random_numbers_below_1_are_not_rounded_up_to_1() -> None:
    drawn = evaluate(tf.random_uniform([20_000], dtype=tf.bfloat16, seed=1)).astype(np.float32)
    assert drawn.min() >= 0
    assert drawn.max() == 1 - 2**-8
    assert abs(drawn.mean() - 0.5) < 0.02
    normal = evaluate(tf.random_normal([20_000], dtype=tf.bfloat16, seed=1)).astype(np.float32)
    assert abs(normal.std() - 1) < 0.02


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "optimizer",
    [
        tf.train.AdagradOptimizer(0.5),
        tf.train.AdamOptimizer(0.5, beta2=0.9),
        tf.train.GradientDescentOptimizer(0.5),
        tf.train.MomentumOptimizer(0.5, 0.5),
        tf.train.RMSPropOptimizer(0.5),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_an_update_differs_from_that_of_float32_by_its_rounding(optimizer: Any) -> None:
    start = np.array([0.5, -1, 2, 0.75], np.float32)
    found = []
    for kind in (tf.float32, tf.bfloat16):
        with tf.variable_scope(kind.name):
            v = tf.get_variable("v", initializer=tf.cast(start, kind))
        step = optimizer.minimize(tf.reduce_sum(tf.square(v)), var_list=[v])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            found.append(session.run(v).astype(np.float32))
    np.testing.assert_allclose(*found, rtol=1e-2, atol=1e-2)
    assert not np.array_equal(found[0], start)


def small_network(x: Any, labels: Any) -> Any:
    """Return the loss of a network that computes in bfloat16, with weights of float32."""
    hidden = tf.cast(x, tf.bfloat16)
    for index, width in enumerate((16, 16, 3)):
        with tf.variable_scope(f"layer{index}"):
            weights = tf.get_variable("weights", [hidden.shape[1], width])
            bias = tf.get_variable("bias", [width], initializer=tf.zeros_initializer())
        product = tf.matmul(hidden, tf.cast(weights, tf.bfloat16))
        outputs = tf.nn.bias_add(product, tf.cast(bias, tf.bfloat16))
        hidden = tf.nn.relu(outputs)
    return tf.losses.sparse_softmax_cross_entropy(labels, tf.cast(outputs, tf.float32))


@pytest.mark.usefixtures("place")
def test_a_network_in_bfloat16_with_weights_of_float32_learns() -> None:
    tf.set_random_seed(3)
    draw = np.random.default_rng(3)
    points = draw.normal(size=(64, 5)).astype(np.float32)
    classes = np.argmax(points[:, :3], axis=1).astype(np.int32)
    x, labels = tf.placeholder(tf.float32, [64, 5]), tf.placeholder(tf.int32, [64])
    loss = small_network(x, labels)
    assert loss.dtype == tf.float32
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    feeds = {x: points, labels: classes}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], feeds)[0] for _ in range(100)]
    assert losses[0] > 1
    assert losses[-1] < 0.1


def test_a_checkpoint_keeps_a_variable(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.cast([1.5, -2], tf.bfloat16)
        variables = [
            tf.get_variable(f"v{int(flag)}", initializer=start, use_resource=flag)
            for flag in (False, True)
        ]
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run([tf.assign(v, v * 3) for v in variables])
        saver.restore(session, path)
        for value in session.run(variables):
            assert (value.dtype, value.tolist()) == (BFLOAT16, [1.5, -2])
    assert tf.train.load_checkpoint(path).get_tensor("v0").dtype == BFLOAT16


def test_bfloat16_is_printed_and_converted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.5, 0.1], tf.bfloat16)
        assert session.run(tf.as_string(x)).tolist() == [b"1.500000", b"0.100098"]
        assert tf.make_ndarray(tf.make_tensor_proto(session.run(x))).tolist() == [
            1.5,
            0.10009765625,
        ]
        assert session.run(tf.cast(x, tf.int32)).tolist() == [1, 0]
        back = session.run(tf.cast(tf.constant([1, 257], tf.int64), tf.bfloat16))
        assert (back.dtype, back.tolist()) == (BFLOAT16, [1, 256])


def test_a_product_of_float32_and_bfloat16_is_a_float32() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        left = tf.constant([[0.1, 2.0]])
        product = tf.matmul(left, tf.cast([[3.0], [4.0]], dtypes.bfloat16))
        assert product.dtype is tf.float32
        np.testing.assert_allclose(session.run(product), [[8.3]], rtol=1e-2)
