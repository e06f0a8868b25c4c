"""The parts of networks and the measures of images of `tf.contrib.gan`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf

gan = tf.contrib.gan
features, measures = gan.features, gan.eval


def run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches))


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_clipped_variables_stay_within_the_bound() -> None:
    variable = tf.Variable([2.0, -1.0])
    optimizer = features.clip_variables(tf.train.GradientDescentOptimizer(1.0), [variable], 0.5)
    step = optimizer.minimize(tf.reduce_sum(variable))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert np.all(np.abs(session.run(variable)) <= 0.5 + 1e-6)
    with pytest.raises(ValueError, match="must be positive"):
        features.clip_variables(tf.train.GradientDescentOptimizer(1.0), [variable], -1)


def test_a_condition_adds_a_linear_map_to_a_tensor() -> None:
    with tf.variable_scope("", initializer=tf.ones_initializer()):
        added = features.condition_tensor(tf.zeros([2, 1, 3]), tf.constant([[1.0, 2], [3, 4]]))
        classes = features.condition_tensor_from_onehot(tf.zeros([2, 3]), tf.eye(2), 4)
    assert added.shape.as_list() == [2, 1, 3]
    assert classes.shape.as_list() == [2, 3]
    assert "embedding" in [each.op.name for each in tf.trainable_variables()]
    with pytest.raises(ValueError, match="at least 2D"):
        features.condition_tensor(tf.zeros([2, 3]), tf.zeros([2]))


def test_a_pool_keeps_values_together_and_returns_old_ones_when_it_is_full() -> None:
    value = tf.placeholder(tf.float32, [1])
    pooled = features.tensor_pool((value, [value * 10]), pool_size=2, pooling_probability=1.0)
    with tf.Session() as session:
        seen = [session.run(pooled, {value: [each]}) for each in (1.0, 2.0, 3.0, 4.0)]
    assert [first.item() for first, _ in seen[:2]] == [1, 2]
    assert seen[2][0].item() in (1, 2)
    assert seen[3][0].item() in (1, 2, 3)
    assert all(other[0].item() == 10 * first.item() for first, other in seen)


def test_a_pool_of_no_size_returns_the_values() -> None:
    value = tf.constant([1.0])
    assert features.tensor_pool(value, pool_size=0) is value
    with pytest.raises(ValueError, match="negative"):
        features.tensor_pool(value, pool_size=-1)


def test_the_spectral_norm_is_the_largest_singular_value() -> None:
    weight = normal(2, 3, 5)
    norm, normalized = run(
        features.compute_spectral_norm(tf.constant(weight), 50),
        features.spectral_normalize(tf.constant(weight), 50),
    )
    expected = np.linalg.norm(weight.reshape(6, 5), 2)
    assert norm == pytest.approx(expected, rel=1e-3)
    assert normalized == pytest.approx(weight / expected, rel=1e-3)


def test_a_getter_normalizes_weights_and_no_other_variables() -> None:
    getter = features.spectral_normalization_custom_getter()
    with tf.variable_scope("", custom_getter=getter):
        weight, bias = tf.get_variable("kernel", [3, 4]), tf.get_variable("bias", [3, 4])
        with pytest.raises(ValueError, match="multi-dimensional"):
            tf.get_variable("a/kernel", [3])
    assert not isinstance(weight, type(bias))
    assert [each.op.name for each in tf.trainable_variables()][:2] == ["kernel", "bias"]


def test_a_spectral_regularizer_refuses_scales_that_are_integers_or_negative() -> None:
    assert features.spectral_norm_regularizer(0.0)(tf.ones([2, 2])) is None
    for scale in (1, -1.0):
        with pytest.raises(ValueError, match="scale"):
            features.spectral_norm_regularizer(scale)


@pytest.mark.parametrize(("axis", "batch_axis"), [(-1, 0), (1, 0), (0, 1)])
def test_an_example_is_normalized_by_the_reference_batch_and_itself(
    axis: int, batch_axis: int
) -> None:
    reference, inputs = normal(4, 4, 4, seed=1), normal(4, 4, 4, seed=2)
    found, of_reference = run(
        (vbn := features.VBN(tf.constant(reference), axis, batch_axis=batch_axis))(
            tf.constant(inputs)
        ),
        vbn.reference_batch_normalization(),
    )
    others = tuple(each for each in range(3) if each not in (axis % 3, batch_axis))
    everything = (*others, batch_axis)
    mean, squares = (
        (values.mean(others, keepdims=True) + 4 * fixed.mean(everything, keepdims=True)) / 5
        for values, fixed in ((inputs, reference), (inputs**2, reference**2))
    )
    expected = (inputs - mean) / np.sqrt(squares - mean**2 + 1e-3)
    assert found == pytest.approx(expected, abs=1e-4)
    own = reference - reference.mean(everything, keepdims=True)
    own /= np.sqrt(reference.var(everything, keepdims=True) + 1e-3)
    assert of_reference == pytest.approx(own, abs=1e-4)


def test_a_virtual_batch_refuses_its_batch_axis_and_other_shapes() -> None:
    with pytest.raises(ValueError, match="cannot be the same"):
        features.VBN(tf.zeros([2, 3]), axis=0)
    with pytest.raises(ValueError, match="out of range"):
        features.VBN(tf.zeros([2, 3]), axis=2)
    with pytest.raises(ValueError, match="incompatible"):
        features.VBN(tf.zeros([2, 3]))(tf.zeros([2, 4]))


def test_a_grid_puts_images_in_rows() -> None:
    images = np.arange(4, dtype=np.float32)[:, None, None, None] * np.ones((1, 2, 3, 1), np.float32)
    found, flat, reshaped = run(
        measures.image_grid(tf.constant(images), (2, 2), (2, 3), 1),
        measures.image_grid(tf.constant(images.reshape(4, 6)), (2, 2), (2, 3), 1),
        measures.image_reshaper(tf.constant(images[:3]), num_cols=2),
    )
    expected = np.block(
        [[images[0, :, :, 0], images[1, :, :, 0]], [images[2, :, :, 0], images[3, :, :, 0]]]
    )
    assert found[0, :, :, 0].tolist() == flat[0, :, :, 0].tolist() == expected.tolist()
    expected[2:, 3:] = 0
    assert reshaped[0, :, :, 0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("batch", "grid", "message"),
    [
        ([4, 2, 2, 1], (3, 1), "incompatible with minibatch size 4"),
        ([4, 3, 2, 1], (2, 2), "number of channels incompatible"),
        ([4, 2, 2], (2, 2), "Unrecognized input tensor format"),
    ],
)
def test_a_grid_refuses_images_of_another_shape(
    batch: list[int], grid: tuple[int, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        measures.image_grid(tf.zeros(batch), grid, (2, 2), 1)


def test_the_score_of_logits_is_that_of_the_divergences() -> None:
    logits = normal(6, 4)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = np.exp((p * (np.log(p) - np.log(p.mean(0)))).sum(1).mean())
    found = run(
        measures.classifier_score_from_logits(tf.constant(logits)),
        measures.classifier_score(tf.constant(logits), lambda images: images, num_batches=3),
    )
    assert found == pytest.approx([expected, expected], rel=1e-5)


def test_the_frechet_distances_are_those_of_normal_distributions() -> None:
    real, generated = normal(40, 3, seed=1), 2 * normal(30, 3, seed=2) + 1
    c, d = np.cov(real.T), np.cov(generated.T)
    means = ((real.mean(0) - generated.mean(0)) ** 2).sum()
    trace = np.trace(c + d) - 2 * np.sqrt(np.linalg.eigvals(c @ d)).sum()
    v, w = real.var(0), generated.var(0)
    pair = tf.constant(real), tf.constant(generated)
    found = run(
        measures.frechet_classifier_distance_from_activations(*pair),
        measures.mean_only_frechet_classifier_distance_from_activations(*pair),
        measures.diagonal_only_frechet_classifier_distance_from_activations(*pair),
        measures.frechet_classifier_distance(*pair, lambda images: images, num_batches=5),
    )
    diagonal = means + (v + w - 2 * np.sqrt(v * w)).sum()
    assert found == pytest.approx([means + trace, means, diagonal, means + trace], rel=1e-4)


@pytest.mark.parametrize(("block", "blocks"), [(1024, 1), (7, 3)])
def test_the_kernel_distance_is_the_mean_over_blocks_of_rows(block: int, blocks: int) -> None:
    real, generated = normal(20, 4, seed=3), normal(17, 4, seed=4) + 0.5
    found = run(
        *measures.kernel_classifier_distance_and_std_from_activations(
            tf.constant(real), tf.constant(generated), max_block_size=block
        )
    )

    def sizes(count: int) -> Any:
        longer = count % blocks
        each = [count // blocks] * (blocks - longer) + [count // blocks + 1] * longer
        return np.split(np.arange(count), np.cumsum(each)[:-1])

    def distance(x: Any, y: Any) -> float:
        def kernel(a: Any, b: Any) -> Any:
            return (a @ b.T / 4 + 1) ** 3

        def inside(a: Any) -> Any:
            values = kernel(a, a)
            return (values.sum() - np.trace(values)) / (len(a) * (len(a) - 1))

        return float(inside(x) + inside(y) - 2 * kernel(x, y).mean())

    parts = [distance(real[a], generated[b]) for a, b in zip(sizes(20), sizes(17), strict=True)]
    assert found[0] == pytest.approx(np.mean(parts), rel=1e-3)
    if blocks > 1:
        assert found[1] == pytest.approx(np.std(parts, ddof=1) / np.sqrt(blocks), rel=1e-3)
    else:
        assert np.isnan(found[1])


@pytest.mark.parametrize("use_svd", [False, True])
def test_images_are_nearer_to_themselves_than_to_others(use_svd: bool) -> None:
    rows = np.sin(np.arange(16) * np.pi / 4)[None, :, None, None]
    real = (rows + 0.1 * normal(4, 16, 16, 3)).astype(np.float32)
    distances = measures.sliced_wasserstein_distance(
        tf.constant(real), tf.constant(real.transpose(0, 2, 1, 3)), 8, 8, 3, use_svd=use_svd
    )
    scores = run(distances)[0]
    assert len(scores) == 2
    assert all(same < other for same, other in scores)


def test_a_frozen_classifier_judges_images(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.reduce_sum(tf.placeholder(tf.float32, name="Mul"), [1, 2], name="logits")
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    frozen = measures.get_graph_def_from_disk(str(tmp_path / "graph.pb"))
    images = measures.preprocess_image(tf.constant(np.full((2, 5, 5, 3), 255, np.uint8)), 4, 4)
    logits = measures.run_inception(images, frozen, image_size=4)
    assert run(logits)[0] == pytest.approx(np.full((2, 3), 16 * 127 / 128))
    with pytest.raises(ValueError, match="must provide `default_graph_def_fn`"):
        measures.run_inception(images, default_graph_def_fn=None, image_size=4)


def model(**fields: Any) -> Any:
    return gan.GANModel(**dict.fromkeys(gan.GANModel._fields) | fields)


def test_models_have_summaries_of_images_and_variables() -> None:
    variable = tf.Variable(1.0, name="v")
    images = {
        name: tf.zeros([4, 2, 2, 3]) for name in ("generator_inputs", "generated_data", "real_data")
    }
    single = model(**images, generator_variables=[variable], discriminator_variables=[variable])
    measures.add_gan_model_image_summaries(single, grid_size=2)
    measures.add_image_comparison_summaries(single, display_diffs=True)
    cycle = gan.CycleGANModel(single, single, images["real_data"], images["real_data"])
    measures.add_cyclegan_image_summaries(cycle)
    measures.add_gan_model_summaries(cycle)
    names = [each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == [
        *("real_data", "generated_data", "generator_variables/v_0", "discriminator_variables/v_0"),
        *("image_comparison", "x2y_image_comparison_summaries/image_comparison"),
        "y2x_image_comparison_summaries/image_comparison",
        *("cyclegan_x2y_summaries/generator_variables/v_0",),
        "cyclegan_x2y_summaries/discriminator_variables/v_0",
        "cyclegan_y2x_summaries/generator_variables/v_0",
        "cyclegan_y2x_summaries/discriminator_variables/v_0",
    ]
    with pytest.raises(ValueError, match="does not take CycleGANModels"):
        measures.add_gan_model_image_summaries(cycle)


def test_a_stargan_shows_each_image_in_all_domains() -> None:
    def generator(images: Any, targets: Any) -> Any:
        return images * tf.reshape(targets[:, 0], [-1, 1, 1, 1])

    with tf.variable_scope("G") as scope:
        pass
    stargan = gan.StarGANModel(
        **dict.fromkeys(gan.StarGANModel._fields)
        | {"input_data": tf.ones([3, 2, 2, 3]), "input_data_domain_label": tf.zeros([3, 2]),
           "generator_fn": generator, "generator_scope": scope}
    )  # fmt: skip
    measures.add_stargan_image_summaries(stargan, display_diffs=True)
    (image,) = tf.get_collection(tf.GraphKeys.SUMMARIES)
    tiles = run(image.op.inputs[1])[0]
    assert tiles[0, ::2, ::2, 0].tolist() == [[1, 1, 0], [0, 0, -1]]


def test_regularization_is_shown_for_each_network_with_a_scope() -> None:
    with tf.variable_scope("G") as scope:
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.identity(2.0))
    measures.add_regularization_loss_summaries(model(generator_scope=scope))
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 1
