"""Functions keep the static shapes that layers behind them need, as TensorFlow 1.15 does."""

from typing import Any

import numpy as np
import pytest

import capstan as tf


def sizes(tensor: Any) -> list[int | None] | None:
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


@pytest.mark.parametrize("default_id", [None, 1])
@pytest.mark.parametrize(
    "shape, wanted", [([None, 4], [None, 16]), ([2, 3, 4], [None, None, 16]), (None, None)]
)
def test_safe_embeddings_have_the_width_of_their_table(
    shape: Any, wanted: Any, default_id: int | None
) -> None:
    ids = tf.sparse_placeholder(tf.int64, shape)
    table = tf.get_variable("table", [5, 16], partitioner=tf.fixed_size_partitioner(2))
    found = tf.nn.safe_embedding_lookup_sparse(table, ids, default_id=default_id)
    assert sizes(found) == wanted


@pytest.mark.parametrize(
    "shape, single",
    [([None, None, 3], True), ([None, None, None, 3], False), ([2, 9, 9, 3], False)],
)
def test_cut_images_keep_their_channels(shape: Any, single: bool) -> None:
    images = tf.placeholder(tf.float32, shape)
    resized = sizes(tf.image.resize_image_with_crop_or_pad(images, 8, 6))
    middle = sizes(tf.image.central_crop(images, 0.5))
    assert resized == ([8, 6, 3] if single else [shape[0], 8, 6, 3])
    side = None if shape[-2] is None else 5
    assert middle == ([side, side, 3] if single else [shape[0], side, side, 3])


def test_a_strided_slice_without_strides_has_a_known_shape() -> None:
    assert sizes(tf.strided_slice(tf.ones([4, 6]), [0, 1], [1, 4])) == [1, 3]


def test_vectors_of_ones_and_zeros_are_known_shapes() -> None:
    fed = tf.placeholder(tf.float32)
    assert sizes(tf.reshape(fed, tf.ones_like([2, 3]) * 2)) == [2, 2]
    assert sizes(tf.reshape(fed, tf.zeros_like([2, 3]) + 4)) == [4, 4]
    assert sizes(tf.reshape(fed, tf.ones_like(tf.placeholder(tf.int32, [2])))) == [1, 1]


@pytest.mark.parametrize("scope", ["", "train"])
def test_slots_of_parts_are_restored_into_another_number_of_parts(
    scope: str, tmp_path: Any
) -> None:
    def saver(parts: int) -> Any:
        partitioner = tf.fixed_size_partitioner(parts)
        table = tf.get_variable("emb/item", [10, 2], partitioner=partitioner)
        with tf.variable_scope(scope):
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1]))
            tf.train.AdagradOptimizer(0.1).minimize(loss)
        return tf.train.Saver()

    path = str(tmp_path / "model")
    with tf.Session() as session:
        saves = saver(2)
        session.run(tf.global_variables_initializer())
        saves.save(session, path)
        before = [value for part in tf.global_variables() for value in session.run(part).ravel()]
    prefix = f"{scope}/" if scope else ""
    assert dict(tf.train.list_variables(path)) == {
        "emb/item": [10, 2], f"{prefix}emb/item/Adagrad": [10, 2]
    }  # fmt: skip
    with tf.Graph().as_default(), tf.Session() as session:
        saver(3).restore(session, path)
        after = [value for part in tf.global_variables() for value in session.run(part).ravel()]
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_labels_of_unknown_rank_lose_their_last_axis(shape: Any, is_known: bool) -> None:
    logits = tf.placeholder_with_default(np.eye(3, dtype=np.float32), [3, 3] if is_known else None)
    labels = tf.placeholder(tf.int64)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, -1))[1]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found = session.run([loss, accuracy], {labels: np.arange(3).reshape(shape)})
    np.testing.assert_allclose(found, [np.log(np.e + 2) - 1, 1.0], rtol=1e-6)
