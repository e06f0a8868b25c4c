"""`tf.contrib.layers` and `tf.contrib.framework`: layers compute what their formulas say."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

layers, framework = tf.contrib.layers, tf.contrib.framework
RANDOM = np.random.RandomState(3)
VECTORS = RANDOM.uniform(-1, 1, (6, 3)).astype(np.float32)
IMAGES = RANDOM.uniform(-1, 1, (4, 5, 5, 3)).astype(np.float32)


def run(*fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        results = [session.run(fetch) for fetch in fetches]
    return results[0] if len(results) == 1 else results


def test_the_oldest_dense_layer_multiplies_along_the_last_axis() -> None:
    given = tf.placeholder_with_default(VECTORS.reshape(2, 3, 3), [None, 3, 3])
    settings: dict[str, Any] = {
        "weight_init": tf.constant_initializer(0.5),
        "weight_regularizer": tf.nn.l2_loss,
    }
    outputs = layers.legacy_relu(given, 4, bias_init=tf.ones_initializer(), **settings)
    flat = layers.legacy_linear(VECTORS, 2, bias_init=None, name="flat", **settings)
    assert outputs.shape.as_list() == [None, 3, 4]
    sums = 0.5 * VECTORS.sum(1, keepdims=True)
    found, others = run(outputs, flat)
    wanted = np.maximum(sums + 1, 0).repeat(4, 1).reshape(2, 3, 4)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(others, sums.repeat(2, 1), rtol=1e-6)
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == ["fully_connected/weights", "fully_connected/bias", "flat/weights"]
    assert [v.op.name for v in tf.get_collection("biases")] == ["fully_connected/bias"]
    assert tf.get_collection(tf.GraphKeys.ACTIVATIONS) == [outputs, flat]
    assert len(tf.losses.get_regularization_losses()) == 2
    assert tf.get_collection(tf.GraphKeys.MODEL_VARIABLES) == []


@pytest.mark.parametrize("shape", [None, [3], [2, None]])
def test_the_oldest_dense_layer_refuses_inputs_without_a_known_last_axis(shape: Any) -> None:
    with pytest.raises(ValueError, match="needs at least two axes"):
        layers.legacy_fully_connected(tf.placeholder(tf.float32, shape), 2)


FORMS = {
    "fused": {},
    "plain": {"fused": False},
    "in place": {"updates_collections": None},
    "in place, plain": {"updates_collections": None, "fused": False},
    "own collection": {"updates_collections": "moves"},
    "weighted by 1": {"batch_weights": [1.0] * 4},
    "first": {"data_format": "NCHW"},
    "first, plain, in place": {"data_format": "NCHW", "fused": False, "updates_collections": None},
}


@pytest.mark.parametrize("kind", ["python", "tensor"])
@pytest.mark.parametrize("form", FORMS)
def test_batch_norm_normalizes_and_moves_its_averages(form: str, kind: str) -> None:
    options = {"decay": 0.75, "scale": True, "scope": "bn", **FORMS[form]}
    is_first = options.get("data_format") == "NCHW"
    inputs = IMAGES.transpose(0, 3, 1, 2) if is_first else IMAGES
    training = True if kind == "python" else tf.placeholder_with_default(True, [])
    outputs = layers.batch_norm(tf.constant(inputs), is_training=training, **options)
    key = options.get("updates_collections", tf.GraphKeys.UPDATE_OPS)
    updates = tf.get_collection(key) if key else []
    moved = {v.op.name: v for v in tf.global_variables()}
    assert sorted(moved) == ["bn/beta", "bn/gamma", "bn/moving_mean", "bn/moving_variance"]
    assert set(tf.model_variables()) == set(moved.values())
    assert {v.op.name for v in tf.trainable_variables()} == {"bn/beta", "bn/gamma"}
    found, averages = run([outputs, *updates], moved)
    mean, variance = IMAGES.mean((0, 1, 2)), IMAGES.var((0, 1, 2))
    expected = (IMAGES - mean) / np.sqrt(variance + 0.001)
    expected = expected.transpose(0, 3, 1, 2) if is_first else expected
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(averages["bn/moving_mean"], mean / 4, rtol=1e-4, atol=1e-6)
    is_fused = options.get("fused") is not False and "batch_weights" not in options
    seen = variance * (100 / 99 if is_fused else 1)  # the fused operation gives the unbiased one
    np.testing.assert_allclose(averages["bn/moving_variance"], 0.75 + seen / 4, rtol=1e-4)


def test_batch_norm_applies_its_averages_to_vectors() -> None:
    outputs = layers.batch_norm(
        tf.constant(VECTORS), is_training=False, scale=True,
        param_initializers={"beta": tf.constant_initializer(1.0),
                            "gamma": tf.constant_initializer(2.0),
                            "moving_mean": tf.constant_initializer(0.5),
                            "moving_variance": tf.constant_initializer(4.0)},
    )  # fmt: skip
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    expected = 2 * (VECTORS - 0.5) / np.sqrt(4.001) + 1
    np.testing.assert_allclose(run(outputs), expected, rtol=1e-5)


def test_batch_norm_weighs_examples() -> None:
    weights = np.array([1, 0, 2, 0, 0, 1], np.float32)
    outputs = layers.batch_norm(tf.constant(VECTORS), batch_weights=weights)
    counted = VECTORS[[0, 2, 2, 5]]
    expected = (VECTORS - counted.mean(0)) / np.sqrt(counted.var(0) + 0.001)
    np.testing.assert_allclose(run(outputs), expected, rtol=1e-4)


def test_the_scope_sets_defaults_for_layers_inside_it() -> None:
    decay = layers.l2_regularizer(0.5)
    with framework.arg_scope(
        [layers.conv2d, layers.fully_connected],
        weights_regularizer=decay, normalizer_fn=layers.batch_norm, activation_fn=None,
    ) as outer:  # fmt: skip
        with framework.arg_scope([layers.conv2d], padding="VALID"):
            hidden = layers.conv2d(tf.constant(IMAGES), 2, [3, 3], scope="conv")
        hidden = layers.fully_connected(layers.flatten(hidden), 4, normalizer_fn=None, scope="fc")
    assert hidden.shape.as_list() == [4, 4]
    assert [v.op.name for v in tf.global_variables()] == [
        "conv/weights", "conv/BatchNorm/beta", "conv/BatchNorm/moving_mean",
        "conv/BatchNorm/moving_variance", "fc/weights", "fc/biases",
    ]  # fmt: skip
    assert len(tf.losses.get_regularization_losses()) == 2
    with framework.arg_scope(outer):
        assert framework.current_arg_scope() == outer
    assert framework.current_arg_scope() == {}
    with pytest.raises(ValueError, match="is not decorated with @add_arg_scope"):
        framework.arg_scope([tf.nn.relu], name="x").__enter__()
    with pytest.raises(TypeError, match="must either be a list/tuple or reused scope"):
        framework.arg_scope(layers.conv2d, padding="VALID").__enter__()
    assert "stride" in framework.arg_scoped_arguments(layers.conv2d)


def test_an_own_function_takes_its_defaults_from_a_scope() -> None:
    @framework.add_arg_scope
    def shifted(value: int, by: int = 1) -> int:
        return value + by

    with framework.arg_scope([shifted], by=5):
        assert (shifted(1), shifted(1, by=2)) == (6, 3)
    assert shifted(1) == 2


def test_layers_share_variables_by_scope_and_collect_their_outputs() -> None:
    def network(reuse: bool) -> Any:
        options = {"reuse": reuse, "outputs_collections": "points"}
        hidden = layers.conv2d(
            tf.constant(IMAGES), 2, 3, scope="a", variables_collections=["own"], **options
        )
        return layers.conv2d_transpose(hidden, 3, 3, stride=2, scope="b", **options)

    first, second = network(False), network(True)
    assert first.shape.as_list() == [4, 10, 10, 3]
    assert [v.op.name for v in tf.get_collection("own")] == ["a/weights", "a/biases"]
    points = tf.contrib.slim.utils.convert_collection_to_dict("points")
    assert list(points) == ["a", "b"]
    np.testing.assert_array_equal(*run([first, second]))


def test_a_separable_convolution_is_two_convolutions() -> None:
    images = tf.constant(IMAGES)
    outputs = layers.separable_conv2d(images, 4, 3, 2, activation_fn=None, scope="s")
    depths = layers.separable_conv2d(images, None, 3, 2, activation_fn=None, scope="d")
    names = ["s/depthwise_weights", "s/pointwise_weights", "s/biases"]
    assert [v.op.name for v in tf.global_variables()] == [*names, "d/depthwise_weights", "d/biases"]
    by_name = {v.op.name: v for v in tf.global_variables()}
    deep = tf.nn.depthwise_conv2d(images, by_name[names[0]], [1, 1, 1, 1], "SAME")
    both = tf.nn.conv2d(deep, by_name[names[1]], [1, 1, 1, 1], "VALID")
    alone = tf.nn.depthwise_conv2d(images, by_name["d/depthwise_weights"], [1, 1, 1, 1], "SAME")
    found, expected, own, wanted = run([outputs, both, depths, alone])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-6)


def test_examples_are_normalized_one_by_one() -> None:
    images = tf.constant(IMAGES)
    each = [layers.layer_norm(images), layers.instance_norm(images), layers.unit_norm(images, 3)]
    of_examples, of_channels, of_pixels = run(each)

    def normal(axes: Any, epsilon: float) -> Any:
        mean, variance = IMAGES.mean(axes, keepdims=True), IMAGES.var(axes, keepdims=True)
        return (IMAGES - mean) / np.sqrt(variance + epsilon)

    np.testing.assert_allclose(of_examples, normal((1, 2, 3), 1e-12), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(of_channels, normal((1, 2), 1e-6), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose((of_pixels**2).sum(3), 1, rtol=1e-4)


def test_small_layers_compute_their_formulas() -> None:
    ids = tf.constant([[0, 2], [1, 0]])
    embedded = layers.embed_sequence(ids, 3, 4, scope="words")
    again = layers.embed_sequence(ids, 3, 4, scope="words", reuse=True)
    stacked = layers.stack(tf.constant(VECTORS), layers.fully_connected, [5, 4], scope="fc")
    repeated = layers.repeat(tf.constant(IMAGES), 2, layers.conv2d, 2, 3, scope="conv")
    linear = layers.linear(tf.constant(VECTORS), 2, biases_initializer=tf.ones_initializer())
    names = {v.op.name for v in tf.global_variables()}
    assert {"fc/fc_1/weights", "fc/fc_2/biases", "conv/conv_2/weights"} <= names
    assert (stacked.shape.as_list(), linear.shape.as_list()) == ([6, 4], [6, 2])
    assert repeated.shape.as_list() == [4, 5, 5, 2]
    one, two, hot, total = run(
        [embedded, again, layers.one_hot_encoding([0, 2], 3), layers.softmax(tf.constant(IMAGES))]
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(hot, np.eye(3)[[0, 2]])
    np.testing.assert_allclose(total.sum(3), 1, rtol=1e-5)


def test_regularizers_add_their_losses() -> None:
    weights = tf.constant([[3.0, -4.0]])
    both = layers.l1_l2_regularizer(0.1, 0.2)
    total = layers.apply_regularization(both, [weights, weights])
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == [total]
    np.testing.assert_allclose(run([both(weights), total]), [3.2, 6.4], rtol=1e-6)


@pytest.mark.parametrize(
    "optimizer, expected",
    [("SGD", 2.0), (tf.train.GradientDescentOptimizer, 2.0),
     (lambda rate: tf.train.GradientDescentOptimizer(rate / 2), 2.5)],
)  # fmt: skip
def test_a_loss_is_optimized_within_bounds(optimizer: Any, expected: float) -> None:
    variable = tf.Variable(3.0)
    step = framework.get_or_create_global_step()
    train = layers.optimize_loss(
        50 * variable, step, 0.5, optimizer, clip_gradients=2.0, summaries=["gradients", "loss"]
    )
    loss, value, now = run(train, variable, step)
    assert (loss, value, now) == (150.0, expected, 1)


def test_the_factor_of_a_gradient_may_be_a_tensor_of_another_type() -> None:
    variable, factor = tf.Variable(3.0), tf.placeholder(tf.float64, [])
    train = layers.optimize_loss(
        2 * variable, framework.get_or_create_global_step(), 1.0, "SGD",
        gradient_multipliers={variable: factor},
    )  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {factor: 0.25})
        assert session.run(variable) == 2.5


def test_an_optimizer_counts_a_step_that_is_found_by_its_name() -> None:
    step = tf.get_variable("global_step", [], tf.int64, tf.zeros_initializer(), trainable=False)
    variable = tf.Variable(3.0)
    train = layers.optimize_loss(2 * variable, None, 1.0, "SGD")
    assert run(train, step) == [6.0, 1]


@pytest.mark.parametrize("has_step", [False, True])
def test_adaptive_clipping_scales_norms_that_exceed_those_before(has_step: bool) -> None:
    gradient, step = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [])
    clip = layers.adaptive_clipping_fn(decay=0.9, global_step=step if has_step else None)
    sparse = tf.IndexedSlices(gradient, tf.constant([0, 1]), tf.constant([4]))
    (dense, _), (none, _), (slices, _) = clip([(gradient, "a"), (None, "b"), (sparse, "c")])
    assert none is None
    mean = square = 0.0
    factors = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, size in enumerate([*[2.0, 2.2, 1.8] * 5, 500.0, 2.0]):
            found = session.run([dense, slices.values], {gradient: [size, 0.0], step: number})
            value = np.log(np.sqrt(2 * size**2))
            decay = min(0.9, number / (number + 1)) if has_step else 0.9
            mean = decay * mean + (1 - decay) * value
            square = decay * square + (1 - decay) * value**2
            most = np.exp(mean + 2 * np.sqrt(max(square - mean**2, 1e-8)))
            norm = np.sqrt(2) * size
            factors.append(1.0 if norm < most else np.exp(mean) / norm)
            for each in found:
                np.testing.assert_allclose(each, [size * factors[-1], 0.0], rtol=1e-4)
    assert factors[-2] < 0.02
    # With the step, the averages follow the first norms at once.
    assert (factors[0] == 1.0) == has_step


def test_adaptive_clipping_keeps_below_a_fixed_norm() -> None:
    clip = layers.adaptive_clipping_fn(static_max_norm=0.5, report_summary=True)
    ((clipped, _),) = clip([(tf.constant([3.0, 4.0]), "a")])
    np.testing.assert_allclose(run(clipped), [0.3, 0.4], rtol=1e-5)
    (tag,) = [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert tag == "global_norm/adaptive_max_gradient_norm:0"


def test_an_optimizer_of_an_unknown_name_is_refused() -> None:
    step = framework.get_or_create_global_step()
    loss = tf.Variable(1.0) * 2
    for arguments, message in [
        ((0.1, "Best"), "Optimizer name should be one of"),
        ((None, "SGD"), "Learning rate is None"),
        ((1, "SGD"), "Learning rate should be 0d Tensor or float"),
    ]:
        with pytest.raises(ValueError, match=message):
            layers.optimize_loss(loss, step, *arguments)


def test_variables_are_found_by_their_names(tmp_path: pathlib.Path) -> None:
    with tf.variable_scope("net"):
        weights = framework.model_variable("weights", [2], initializer=tf.ones_initializer())
        biases = framework.variable("biases", [2], initializer=tf.zeros_initializer())
    framework.local_variable(1.0, name="seen")
    assert framework.get_variables("net") == [weights, biases]
    assert framework.get_model_variables() == [weights]
    assert framework.get_variables_by_name("biases") == [biases]
    assert framework.get_variables_by_suffix("weights") == [weights]
    assert framework.get_variables_to_restore(exclude=["net/w"]) == [biases]
    assert framework.get_unique_variable("net/biases") is biases
    assert framework.filter_variables([weights, biases], exclude_patterns=["bias"]) == [weights]
    assert [v.op.name for v in framework.get_local_variables()] == ["seen"]
    saver = tf.train.Saver([weights])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        operation, feeds = framework.assign_from_checkpoint(path, {"net/weights": biases})
        session.run(operation, feeds)
        assert biases.eval(session).tolist() == [1.0, 1.0]
        framework.assign_from_values_fn({"net/weights": np.array([5.0, 6.0])})(session)
        assert weights.eval(session).tolist() == [5.0, 6.0]
        restore = framework.assign_from_checkpoint_fn(path, [weights, biases], True)
        restore(session)
        assert weights.eval(session).tolist() == [1.0, 1.0]
        with pytest.raises(ValueError, match=r"Checkpoint is missing variable \[net/biases\]"):
            framework.assign_from_checkpoint(path, [biases])
    chooser = framework.VariableDeviceChooser(2)
    devices = [chooser(None) for _ in range(3)]
    assert devices[0] == devices[2] == "/job:ps/task:0/device:CPU:0" != devices[1]


def test_batch_normalization_moves_objects_that_stand_for_variables() -> None:
    class Staged:
        """Reads a variable, and counts its updates."""

        def __init__(self, variable: Any) -> None:
            self.variable, self.updates = variable, 0
            self.dtype, self.shape = variable.dtype.base_dtype, variable.shape

        def get_shape(self) -> Any:
            return self.shape

        def assign_sub(self, delta: Any) -> Any:
            self.updates += 1
            return self.variable.assign_sub(delta)

    def convert(staged: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return staged.variable._ref() if as_ref else staged.variable.value()

    made = []

    def staged(getter: Any, *args: Any, **kwargs: Any) -> Any:
        made.append(Staged(getter(*args, **kwargs)))
        return made[-1]

    tf.register_tensor_conversion_function(Staged, convert)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("model", custom_getter=staged):
            tf.layers.batch_normalization(tf.fill([4, 1], 3.0), training=True, momentum=0.5)
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        values = session.run([staged.variable for staged in made])
    assert [staged.updates for staged in made] == [0, 0, 1, 1]
    assert [value.item() for value in values] == [1, 0, 1.5, 0.5]


def test_initializers_refuse_integers_and_unknown_modes() -> None:
    with pytest.raises(TypeError, match="non-floating point type"):
        tf.contrib.layers.xavier_initializer(dtype=tf.int32)
    with pytest.raises(TypeError, match="Unknown mode FAN_ALL"):
        tf.contrib.layers.variance_scaling_initializer(mode="FAN_ALL")


@pytest.mark.parametrize("layout", ["NDHWC", "NCDHW"])
def test_the_transpose_of_a_convolution_of_volumes_is_its_gradient(layout: str) -> None:
    images = tf.constant(RANDOM.uniform(-1, 1, (2, 3, 2, 4, 5)), tf.float32)
    given = tf.transpose(images, [0, 4, 1, 2, 3]) if layout == "NCDHW" else images
    result = layers.conv3d_transpose(given, 6, 3, 2, data_format=layout, activation_fn=None)
    result = tf.transpose(result, [0, 2, 3, 4, 1]) if layout == "NCDHW" else result
    weights, _ = framework.get_model_variables()
    assert weights.op.name == "Conv3d_transpose/weights"
    expected = tf.nn.conv3d_transpose(images, weights, [2, 6, 4, 8, 6], [1, 2, 2, 2, 1])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*session.run([result, expected]), rtol=1e-5, atol=1e-6)


def test_an_instance_norm_refuses_an_unknown_layout() -> None:
    with pytest.raises(ValueError, match="either NCHW or NHWC, not 'NHCW'"):
        layers.instance_norm(tf.constant(IMAGES), data_format="NHCW")


def test_the_share_of_integers_that_a_relu_cuts_off_is_a_summary() -> None:
    layers.summarize_activation(tf.nn.relu(tf.constant([-1, 2, 3, 4]), name="cut"))
    names = [each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == ["cut/zeros", "cut/activation"]
