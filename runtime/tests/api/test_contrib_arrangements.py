"""`tf.contrib.layers`: layers that arrange, choose or look up values compute their formulas."""

from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf

pytestmark = pytest.mark.e2e

layers = tf.contrib.layers


def random(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


IMAGES = random(1, 2, 3, 5, 4)
TABLE = random(2, 7, 2)


def fed(value: np.ndarray[Any, Any], *shape: int | None) -> Any:
    return tf.placeholder_with_default(value, list(shape) if shape else None)


def test_elements_that_are_no_end_become_sparse() -> None:
    found = run(layers.dense_to_sparse([[1, 0, 2], [0, 0, 3]]))
    assert found.indices.tolist() == [[0, 0], [0, 2], [1, 2]]
    assert [found.values.tolist(), found.dense_shape.tolist()] == [[1, 2, 3], [2, 3]]
    assert run(layers.dense_to_sparse([[1, 0]], eos_token=1)).values.tolist() == [0]


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (None, None, 5, 4), (2, 3, None, 4)])
def test_images_become_sequences_and_images_again(shape: Any) -> None:
    sequence = layers.images_to_sequence(fed(IMAGES, *shape))
    assert run(sequence).tolist() == IMAGES.transpose(2, 0, 1, 3).reshape(5, 6, 4).tolist()
    first = layers.images_to_sequence(fed(IMAGES.transpose(0, 3, 1, 2), 2, 4, 3, 5), "NCHW")
    assert run(first).tolist() == run(sequence).tolist()
    if shape[2] is None:
        return
    assert run(layers.sequence_to_images(sequence, 3)).tolist() == IMAGES.tolist()
    channels_first = layers.sequence_to_images(sequence, 3, "channels_first")
    assert run(channels_first).tolist() == IMAGES.transpose(0, 3, 1, 2).tolist()


def test_images_have_a_known_format() -> None:
    for function in (layers.images_to_sequence, layers.spatial_softmax):
        with pytest.raises(ValueError, match="NCHW or NHWC"):
            function(IMAGES, data_format="HWCN")


@pytest.mark.parametrize("axis", [-1, 1])
def test_maxout_keeps_the_largest_of_each_group(axis: int) -> None:
    rows = random(3, 3, 6)
    found = layers.maxout(fed(rows, None, 6), 2, axis)
    assert found.shape.as_list() == [None, 2]
    assert run(found).tolist() == rows.reshape(3, 2, 3).max(-1).tolist()
    with pytest.raises(ValueError, match=r"features\(6\) is not a multiple of num_units\(4\)"):
        layers.maxout(rows, 4)


def test_a_scaled_gradient_leaves_the_value() -> None:
    x = tf.constant([1.0, 2.0])
    scaled = layers.scale_gradient(x, [10.0, -1.0])
    value, grad = run([scaled, tf.gradients(scaled * scaled, x)[0]])
    assert [value.tolist(), grad.tolist()] == [[1.0, 2.0], [20.0, -4.0]]


@pytest.mark.parametrize("temperature", [None, 0.5])
def test_spatial_softmax_finds_the_place_of_each_channel(temperature: float | None) -> None:
    found = run(layers.spatial_softmax(fed(IMAGES, None, None, None, 4), temperature))
    weights = np.exp(IMAGES / (temperature or 1))
    weights /= weights.sum((1, 2), keepdims=True)
    rows = (weights * np.linspace(-1, 1, 3)[None, :, None, None]).sum((1, 2))
    columns = (weights * np.linspace(-1, 1, 5)[None, None, :, None]).sum((1, 2))
    np.testing.assert_allclose(
        found, np.stack([rows, columns], 2).reshape(2, 8), rtol=1e-4, atol=1e-6
    )
    assert [v.op.name for v in tf.trainable_variables()] == ["spatial_softmax/temperature"]
    first = layers.spatial_softmax(
        IMAGES.transpose(0, 3, 1, 2), temperature, "again", data_format="NCHW"
    )
    np.testing.assert_allclose(run(first), found, rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": False, "epsilon": 0.5}])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_norm_normalizes_each_group(groups: int, options: Any) -> None:
    split = IMAGES.reshape(2, 3, 5, groups, 4 // groups)
    mean, variance = split.mean((1, 2, 4), keepdims=True), split.var((1, 2, 4), keepdims=True)
    wanted = ((split - mean) / np.sqrt(variance + options.get("epsilon", 1e-6))).reshape(
        IMAGES.shape
    )
    found = layers.group_norm(fed(IMAGES, None, 3, 5, 4), groups, **options)
    assert found.shape.as_list() == [None, 3, 5, 4]
    np.testing.assert_allclose(run(found), wanted, rtol=1e-3, atol=1e-5)
    names = [
        name
        for name in ("beta", "gamma")
        if options.get("center" if name == "beta" else "scale", True)
    ]
    assert [v.op.name for v in tf.model_variables()] == [f"GroupNorm/{name}" for name in names]
    first = layers.group_norm(
        IMAGES.transpose(0, 3, 1, 2), groups, -3, (-2, -1), scope="first", **options
    )
    np.testing.assert_allclose(run(first), wanted.transpose(0, 3, 1, 2), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "arguments, words",
    [((3,), "4 channels is not commensurate with 3 groups"), ((8,), "Invalid groups 8"),
     ((2, -1, (-1,)), "mutually exclusive"), ((2, 4), "out of bounds"),
     ((2, -1, (4,)), "out of bounds")],
)  # fmt: skip
def test_group_norm_refuses_groups_that_do_not_fit(arguments: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        layers.group_norm(IMAGES, *arguments)
    with pytest.raises(ValueError, match="undefined rank"):
        layers.group_norm(fed(IMAGES))


@pytest.mark.parametrize("partitions", [1, 3])
def test_ids_are_looked_up_once(partitions: int) -> None:
    def rows(shape: Any, dtype: Any, partition_info: Any) -> Any:
        start = partition_info.var_offset[0] if partition_info else 0
        return tf.constant(TABLE[start : start + shape[0]])

    table = tf.get_variable(
        "table", [7, 2], initializer=rows, partitioner=tf.fixed_size_partitioner(partitions)
    )
    ids = tf.constant([[6, 1], [1, 6], [0, 1]], tf.int64)
    found = layers.embedding_lookup_unique(table, ids, "div")
    assert found.shape.as_list() == [3, 2, 2]
    gathered = [op for op in tf.get_default_graph().get_operations() if op.type == "Unique"]
    assert len(gathered) == 1
    np.testing.assert_array_equal(run(found), TABLE[[[6, 1], [1, 6], [0, 1]]])


def test_a_bag_of_words_is_the_mean_of_its_embeddings() -> None:
    ids = [[1, 2, 0], [0, 0, 0]]
    start = tf.constant_initializer(TABLE)
    sparse = layers.bow_encoder(tf.constant(ids), 7, 2, initializer=start, scope="sparse")
    dense = layers.bow_encoder(
        tf.constant(ids), 7, 2, sparse_lookup=False, initializer=start, scope="dense"
    )
    found, every = run([sparse, dense])
    np.testing.assert_allclose(found, [TABLE[1:3].mean(0), TABLE[0]], rtol=1e-6)
    np.testing.assert_allclose(every, TABLE[ids].mean(1), rtol=1e-6)
    with pytest.raises(ValueError, match="vocab size"):
        layers.bow_encoder(ids, 0, 2)
    with pytest.raises(TypeError, match="dense Tensor"):
        layers.bow_encoder(layers.dense_to_sparse(ids), 7, 2, sparse_lookup=False)


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_volumes_are_pooled_and_convolved(data_format: str) -> None:
    values = random(4, 1, 4, 4, 4, 2)
    blocks = values.reshape(1, 2, 2, 2, 2, 2, 2, 2)
    largest, mean = blocks.max((2, 4, 6)), blocks.mean((2, 4, 6))
    is_first = data_format == "NCDHW"

    def moved(array: Any) -> Any:
        return array.transpose(0, 4, 1, 2, 3) if is_first else array

    pools = [
        pool(moved(values), 2, data_format=data_format)
        for pool in (layers.max_pool3d, layers.avg_pool3d)
    ]
    ones = layers.conv3d(
        moved(values), 1, 2, 2, "VALID", data_format, activation_fn=None,
        weights_initializer=tf.ones_initializer(),
    )  # fmt: skip
    found = run([*pools, ones])
    np.testing.assert_allclose(found[0], moved(largest))
    np.testing.assert_allclose(found[1], moved(mean), rtol=1e-5, atol=1e-6)
    summed = blocks.sum((2, 4, 6, 7), keepdims=False)[..., None]
    np.testing.assert_allclose(found[2], moved(summed), rtol=1e-4, atol=1e-5)
