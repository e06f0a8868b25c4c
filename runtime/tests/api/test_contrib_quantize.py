"""`tf.contrib.quantize` rounds weights and activations, and folds normalizations into weights."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

slim = tf.contrib.slim
DATA = np.random.default_rng(1)
IMAGES = DATA.normal(size=(4, 6, 6, 3)).astype(np.float32)


def rounded(x: Any, low: float, high: float, bits: int = 8, narrow: bool = False) -> Any:
    """Return the values of FakeQuantWithMinMaxVars (core/kernels/fake_quant_ops_functor.h)."""
    first, last = int(narrow), 2**bits - 1
    scale = (high - low) / (last - first)
    zero = round(np.clip(first - low / scale, first, last))
    low, high = (first - zero) * scale, (last - zero) * scale
    return np.round((np.clip(x, low, high) - low) / scale) * scale + low


def network(images: Any, *, is_training: bool, kind: str) -> Any:
    """Return a network of two layers, with normalizations behind them or without."""
    norm = slim.batch_norm if kind != "plain" else None
    with slim.arg_scope(
        [slim.conv2d, slim.separable_conv2d, slim.fully_connected],
        normalizer_fn=norm,
        normalizer_params={"is_training": is_training, "decay": 0.5, "scale": True},
    ):
        if kind == "depthwise":
            net = slim.separable_conv2d(images, None, 3, depth_multiplier=2, scope="first")
        else:
            net = slim.conv2d(images, 5, 3, scope="first", activation_fn=tf.nn.relu6)
        net = tf.reduce_mean(net, [1, 2])
        return slim.fully_connected(net, 2, normalizer_fn=None, activation_fn=None, scope="second")


def changed_variables(session: Any) -> None:
    """Give the variables of the normalization other values than the initial ones."""
    random = np.random.default_rng(2)
    for variable in tf.global_variables():
        if any(part in variable.op.name for part in ("gamma", "moving_variance", "beta")):
            session.run(variable.assign(random.uniform(0.5, 1.5, variable.shape.as_list())))


@pytest.mark.parametrize("kind", ["plain", "norm", "depthwise"])
@pytest.mark.parametrize(
    ("is_training", "is_training_rewrite"), [(False, False), (True, True), (True, False)]
)
def test_a_delay_keeps_the_values_and_gradients_of_the_network(
    kind: str, is_training: bool, is_training_rewrite: bool
) -> None:
    results = []
    for is_rewritten in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            result = network(tf.constant(IMAGES), is_training=is_training, kind=kind)
            originals = tf.global_variables()
            if is_rewritten:
                rewrite = tf.contrib.quantize.experimental_create_eval_graph
                if is_training_rewrite:
                    rewrite = tf.contrib.quantize.experimental_create_training_graph
                rewrite(quant_delay=1000)
                assert len(tf.global_variables()) > len(originals)
            loss = tf.reduce_sum(tf.square(last(result)))
            grads = tf.gradients(loss, tf.trainable_variables())
            session.run(tf.global_variables_initializer())
            random = np.random.default_rng(2)
            for variable in originals:
                values = random.uniform(0.5, 1.5, variable.shape.as_list())
                session.run(variable.assign(values))
            results.append(session.run([loss, grads]))
    (loss, grads), (new_loss, new_grads) = results
    assert new_loss == pytest.approx(loss, rel=1e-3)
    for grad, new in zip(grads, new_grads, strict=True):
        np.testing.assert_allclose(new, grad, rtol=2e-2, atol=2e-2 * np.abs(grad).max() + 1e-4)


def last(tensor: Any) -> Any:
    """Return the tensor that readers of `tensor` read: the rounded one, if there is one."""
    graph = tensor.graph
    for name in (
        "second/act_quant/delayed_quant/Merge:0",
        "second/act_quant/FakeQuantWithMinMaxVars:0",
    ):
        try:
            return graph.get_tensor_by_name(name)
        except KeyError:
            continue
    return tensor


def test_an_evaluation_rounds_weights_and_activations_in_the_ranges_of_variables() -> None:
    with tf.Session() as session:
        network(tf.constant(IMAGES), is_training=False, kind="norm")
        tf.contrib.quantize.create_eval_graph()
        names = {variable.op.name: variable for variable in tf.global_variables()}
        assert {
            f"{layer}/{part}_quant/{end}"
            for layer in ("first", "second")
            for part in ("weights", "act")
            for end in ("min", "max")
        } <= names.keys()
        session.run(tf.global_variables_initializer())
        changed_variables(session)
        session.run(
            [
                names["first/weights_quant/min"].assign(-0.3),
                names["first/weights_quant/max"].assign(0.4),
            ]
        )
        values = {name: session.run(variable) for name, variable in names.items()}
        graph = tf.get_default_graph()
        conv = next(
            op for op in graph.get_operations() if op.type == "Conv2D" and op.name.endswith("_Fold")
        )
        weights, activations = session.run(
            [conv.inputs[1], graph.get_tensor_by_name("first/act_quant/FakeQuantWithMinMaxVars:0")]
        )
    factor = values["first/BatchNorm/gamma"] / np.sqrt(
        values["first/BatchNorm/moving_variance"] + 0.001
    )
    expected = rounded(values["first/weights"] * factor, -0.3, 0.4, narrow=True)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    levels = activations / (6 / 255)
    np.testing.assert_allclose(levels, np.round(levels), atol=1e-2)


@pytest.mark.e2e
def test_a_network_learns_while_its_weights_are_rounded() -> None:
    labels = np.array([0, 1, 0, 1])
    images = (IMAGES + labels[:, None, None, None]).astype(np.float32)
    tf.set_random_seed(4)
    logits = network(tf.constant(images), is_training=True, kind="norm")
    tf.contrib.quantize.create_training_graph(quant_delay=5)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, last(logits))
    train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.03))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(60):
            session.run(train)
        assert session.run(loss) < first / 5
        names = {variable.op.name: variable for variable in tf.global_variables()}
        low, high, step = session.run(
            [
                names["second/weights_quant/min"],
                names["second/weights_quant/max"],
                names["fake_quantization_step"],
            ]
        )
        weights = session.run(names["second/weights"])
    assert step == 62
    assert low == pytest.approx(min(weights.min(), 0), abs=0.1)
    assert high == pytest.approx(max(weights.max(), 0), abs=0.1)


def test_a_sum_of_two_branches_is_rounded_once() -> None:
    images = tf.constant(IMAGES)
    left = slim.conv2d(images, 3, 1, scope="left", activation_fn=None)
    tf.nn.relu(left + images, name="out")
    tf.identity(tf.get_default_graph().get_tensor_by_name("out:0"), name="reader")
    tf.contrib.quantize.create_eval_graph()
    names = {variable.op.name for variable in tf.global_variables()}
    assert {"left/weights_quant/min", "left/conv_quant/min", "act_quant/min"} <= names
    assert not any("add_quant" in name for name in names)


@pytest.mark.parametrize("is_read", [False, True])
def test_a_sum_behind_an_activation_is_rounded_under_the_name_of_its_scope(is_read: bool) -> None:
    with tf.Graph().as_default() as graph:
        with tf.name_scope("block"):
            net = slim.conv2d(IMAGES, 3, 3, activation_fn=tf.nn.relu6) + IMAGES
        if is_read:
            tf.sigmoid(net)
        tf.contrib.quantize.create_training_graph()
        names = rounding_ops(graph)
    assert "block/post_activation_bypass_quant/FakeQuantWithMinMaxVars" in names
    assert not [name for name in names if "activation_Add" in name]


def test_a_sum_behind_an_activation_and_before_another_is_not_rounded() -> None:
    with tf.Graph().as_default() as graph:
        tf.nn.relu(slim.conv2d(IMAGES, 3, 3, activation_fn=tf.nn.relu6) + IMAGES)
        tf.contrib.quantize.create_training_graph()
        names = rounding_ops(graph)
    assert names == [f"Conv/{kind}_quant/FakeQuantWithMinMaxVars" for kind in ("weights", "act")]


def test_the_operation_that_ends_a_delay_has_tensorflows_name() -> None:
    with tf.Graph().as_default() as graph:
        slim.conv2d(IMAGES, 3, 3)
        tf.contrib.quantize.create_training_graph(quant_delay=7)
        for kind in ("weights", "act"):
            due = graph.get_operation_by_name(f"Conv/{kind}_quant/activate_quant")
            assert due.type == "GreaterEqual"
            assert tf.get_static_value(due.inputs[1]) == 7
            assert due.inputs[1].op.name == f"{due.name}/y"


def test_a_name_scope_around_the_rewrite_is_not_repeated() -> None:
    with tf.Graph().as_default() as graph:
        with tf.name_scope("tower"):
            slim.conv2d(IMAGES, 3, 3)
            tf.contrib.quantize.create_training_graph(quant_delay=7)
        names = [op.name for op in graph.get_operations()]
    assert "tower/Conv/weights_quant/FakeQuantWithMinMaxVars" in names
    assert not [name for name in names if name.startswith("tower/tower/")]


def test_the_ranges_of_a_partitioned_layer_are_in_one_part() -> None:
    parts = tf.fixed_size_partitioner(2)
    with tf.Graph().as_default(), tf.variable_scope("model", partitioner=parts):
        slim.conv2d(IMAGES, 3, 3)
        tf.contrib.quantize.create_training_graph()
        names = [variable.op.name for variable in tf.global_variables()]
    assert "model/Conv/weights/part_0" in names
    assert "model/Conv/act_quant/min" in names
    assert not [name for name in names if "quant" in name and "part" in name]


def test_a_layer_that_a_copy_separates_from_its_normalization_is_rounded_once() -> None:
    with tf.Graph().as_default() as graph:
        net = tf.identity(slim.conv2d(IMAGES, 3, 3, activation_fn=None, biases_initializer=None))
        tf.identity(slim.batch_norm(net))
        tf.contrib.quantize.create_training_graph()
        names = rounding_ops(graph)
    assert names == [f"Conv/{kind}_quant/FakeQuantWithMinMaxVars" for kind in ("weights", "act")]


def test_the_average_of_a_range_has_tensorflows_name() -> None:
    with tf.Graph().as_default() as graph:
        slim.conv2d(IMAGES, 3, 3)
        tf.contrib.quantize.create_training_graph()
        rounding = graph.get_operation_by_name("Conv/act_quant/FakeQuantWithMinMaxVars")
        ends = [tensor.op.name for tensor in rounding.inputs[1:]]
    assert ends == ["Conv/act_quant/AssignMinEma", "Conv/act_quant/AssignMaxEma"]


def rounding_ops(graph: tf.Graph) -> list[str]:
    return [op.name for op in graph.get_operations() if op.type == "FakeQuantWithMinMaxVars"]


def test_only_a_scope_is_rounded() -> None:
    network(tf.constant(IMAGES), is_training=True, kind="plain")
    tf.contrib.quantize.experimental_create_training_graph(scope="second", weight_bits=4)
    names = [variable.op.name for variable in tf.global_variables() if "_quant" in variable.op.name]
    assert names
    assert all(name.startswith("second/") for name in names)


@pytest.mark.parametrize(
    ("scope", "rounded_names"),
    [
        ("left", {"left/weights_quant"}),
        ("left/", {"left/weights_quant"}),
        (
            "block",
            {
                f"block/{name}_quant"
                for name in ("right/weights", "right/conv", "add/activation_AddV2")
            },
        ),
    ],
)
def test_a_sum_is_rounded_only_if_its_readers_are_in_the_scope(
    scope: str, rounded_names: set[str]
) -> None:
    images = tf.constant(IMAGES)
    left = slim.conv2d(images, 3, 1, scope="left", activation_fn=None)
    tf.identity(tf.nn.relu(left + images))
    with tf.variable_scope("block"):
        right = slim.conv2d(images, 3, 1, scope="right", activation_fn=None)
        total = right + images
    tf.identity(total, name="reader")
    tf.contrib.quantize.experimental_create_eval_graph(scope=scope)
    names = {
        variable.op.name for variable in tf.global_variables() if "_quant/" in variable.op.name
    }
    assert {name.rpartition("/")[0] for name in names} == rounded_names


def test_a_graph_that_trains_already_is_refused() -> None:
    loss = tf.reduce_sum(network(tf.constant(IMAGES), is_training=True, kind="plain"))
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with pytest.raises(ValueError, match="Training op found in graph"):
        tf.contrib.quantize.create_training_graph()
    with pytest.raises(ValueError, match="freeze_bn_delay"):
        tf.contrib.quantize.experimental_create_training_graph(freeze_bn_delay=5)
