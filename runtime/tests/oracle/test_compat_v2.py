"""The functions of `tf.compat.v2` with other arguments give TensorFlow's values on graphs."""

import pathlib
from collections.abc import Callable
from typing import Any

import comparison
import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(5)
A = RANDOM.normal(size=(3, 4)).astype(np.float32)
P = RANDOM.uniform(0.1, 0.9, (3, 4)).astype(np.float32)
IMAGES = RANDOM.uniform(size=(2, 6, 6, 2)).astype(np.float32)
FILTERS = RANDOM.normal(size=(2, 2, 2, 3)).astype(np.float32)
TURNED = RANDOM.normal(size=(2, 2, 3, 2)).astype(np.float32)
VOLUMES = RANDOM.normal(size=(1, 4, 4, 4, 2)).astype(np.float32)
CUBES = RANDOM.normal(size=(2, 2, 2, 2, 3)).astype(np.float32)
LINES = RANDOM.normal(size=(2, 7, 2)).astype(np.float32)
BOXES = np.float32([[[0.1, 0.2, 0.7, 0.8]], [[0.0, 0.0, 0.5, 0.5]]])
ONES = [1, 1, 1, 1]

CASES: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda tf: tf.argmax(A, 1, tf.int32),
    "argmin": lambda tf: tf.math.argmin(A, 0, tf.int32),
    "batch_to_space": lambda tf: tf.batch_to_space(np.ones((4, 1, 1, 1)), 2, [[0, 0], [0, 1]]),
    "bincount": lambda tf: tf.math.bincount([1, 1, 3], None, 6, None, tf.int64, "bins"),
    "boolean_mask": lambda tf: tf.boolean_mask(A, [True, False, True, True], 1, "mask"),
    "cond": lambda tf: tf.cond(tf.constant(True), lambda: [A], lambda: [A + 1], "choice"),
    "confusion": lambda tf: tf.math.confusion_matrix([1, 2], [2, 2], 3, [2, 3], tf.int64),
    "constant": lambda tf: tf.constant([3], tf.int64, [2, 2], "filled"),
    "convert_to_tensor": lambda tf: tf.convert_to_tensor([1, 2], None, tf.float64, "made"),
    "count_nonzero": lambda tf: tf.math.count_nonzero(A > 0, 1, True, tf.int32),
    "expand_dims": lambda tf: tf.expand_dims(A, 1, "wide"),
    "gather": lambda tf: tf.gather(A, [[1], [2], [0]], None, 1, 1, "found"),
    "gather_nd": lambda tf: tf.gather_nd(A, [[1], [2], [0]], 1, "found"),
    "norm": lambda tf: tf.norm(A, 1, 1, True, "length"),
    "ones_like": lambda tf: [tf.ones_like(input=A, dtype=tf.int32), tf.zeros_like(A, tf.int64)],
    "pad": lambda tf: tf.pad(A, [[1, 0], [0, 2]], "CONSTANT", 7.0, "edge"),
    "reductions": lambda tf: [
        *(
            getattr(tf, f"reduce_{each}")(A, 1, True, "all")
            for each in ("logsumexp", "max", "mean", "min", "prod", "sum")
        ),
        tf.reduce_all(A > 0, 1, True), tf.math.reduce_any(A > 0), tf.math.reduce_max(A, axis=[0]),
    ],
    "reverse_sequence": lambda tf: tf.reverse_sequence(A, [2, 1, 4], 1, 0, "turned"),
    "scalars": lambda tf: [tf.shape(A, tf.int64), tf.size(A, tf.int64), tf.squeeze(A[:, :1], 1)],
    "space_to_batch": lambda tf: [
        tf.space_to_batch(IMAGES, [2, 2], [[0, 0], [2, 0]]),
        tf.nn.space_to_batch(IMAGES, [3, 2], [[0, 0], [0, 0]]),
    ],
    "transpose": lambda tf: tf.transpose(A * (1 + 1j), [1, 0], True),
    "tuple": lambda tf: tf.tuple([tf.constant(A), tf.constant(2)], [tf.constant(1).op], "both"),
    "where": lambda tf: [tf.where(A > 0, A, 0.0), tf.where(A > 0)],
    "while_loop": lambda tf: tf.while_loop(
        lambda i: i < 5, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=3
    ),
    "device": lambda tf: placed(tf),
    "decode_raw": lambda tf: [
        tf.io.decode_raw(["abcd", "efgh"], tf.int16, False),
        tf.io.decode_raw(["abcdef", "e"], tf.uint8, fixed_length=4),
    ],
    "decode_csv": lambda tf: tf.io.decode_csv(["1,x", "-,y"], [[1], [""]], ",", True, "-", [0, 1]),
    "parse_example": lambda tf: tf.io.parse_example(
        [b""], {"a": tf.io.FixedLenFeature([2], tf.float32, [1, 2])}, None, "parsed"
    ),
    "serialize_sparse": lambda tf: tf.shape(tf.io.serialize_sparse(sparse(tf), tf.string)),
    "l2_normalize": lambda tf: [tf.nn.l2_normalize(A, 1, 1e-3), tf.linalg.l2_normalize(A, [0, 1])],
    "in_top_k": lambda tf: [
        tf.math.in_top_k([1, 2, 3], A, 2), tf.nn.in_top_k([1, 2, 3], A, 2, "top")
    ],
    "softmax": lambda tf: [
        tf.nn.softmax(A, 0, "soft"), tf.math.softmax(A), tf.nn.log_softmax(A, 0),
        tf.math.log_softmax(A),
    ],
    "pools": lambda tf: [
        tf.nn.avg_pool(IMAGES, 2, 1, "SAME"), tf.nn.max_pool(LINES, 2, 2, "VALID"),
        tf.nn.avg_pool2d(IMAGES, [1, 2, 2, 1], ONES, "VALID", "NHWC"),
        tf.nn.pool(IMAGES, [2, 2], "MAX", dilations=[2, 1]),
        *tf.nn.max_pool_with_argmax(
            IMAGES, [1, 2, 2, 1], ONES, "SAME", output_dtype=tf.int32, include_batch_in_index=True
        ),
    ],
    "batch_norm": lambda tf: tf.nn.batch_norm_with_global_normalization(
        IMAGES, *np.float32([[0.1, 0.2], [1.0, 2.0], [0.5, 0.5], [2.0, 3.0]]), 1e-3, True, "norm"
    ),
    "conv1d": lambda tf: tf.nn.conv1d(LINES, FILTERS[0], 1, "VALID", "NWC", 2),
    "conv2d": lambda tf: [
        tf.nn.conv2d(IMAGES, FILTERS, 1, "SAME"),
        tf.nn.conv2d(IMAGES, filters=FILTERS, strides=[1, 2, 2, 1], padding="VALID"),
        tf.nn.conv2d(IMAGES, FILTERS, 1, [[0, 0], [1, 0], [0, 2], [0, 0]]),
    ],
    "conv3d": lambda tf: tf.nn.conv3d(VOLUMES, filters=CUBES, strides=[1] * 5, padding="VALID"),
    "conv_transpose": lambda tf: [
        tf.nn.conv2d_transpose(IMAGES, TURNED, [2, 12, 12, 3], 2, "SAME"),
        tf.nn.conv3d_transpose(
            input=VOLUMES, filters=CUBES.transpose(0, 1, 2, 4, 3), output_shape=[1, 8, 8, 8, 3],
            strides=2,
        ),
    ],
    "convolution": lambda tf: tf.nn.convolution(IMAGES, FILTERS, None, "SAME", None, [2, 1]),
    "crelu": lambda tf: tf.nn.crelu(A, 0, "both"),
    "blocks": lambda tf: tf.nn.depth_to_space(tf.nn.space_to_depth(IMAGES, 2, "NHWC", "a"), 2),
    "depthwise": lambda tf: [
        tf.nn.depthwise_conv2d(IMAGES, FILTERS, ONES, "VALID", None, [2, 2]),
        tf.nn.separable_conv2d(
            IMAGES, FILTERS, np.ones((1, 1, 6, 1), np.float32), ONES, "VALID", None, [1, 2]
        ),
    ],
    "morphology": lambda tf: [
        tf.nn.dilation2d(IMAGES, FILTERS[..., 0], ONES, "SAME", "NHWC", [1, 2, 1, 1]),
        tf.nn.erosion2d(IMAGES, FILTERS[..., 0], ONES, "VALID", "NHWC", ONES),
    ],
    "dropout": lambda tf: tf.nn.dropout(A, 0.0, None, 3),
    "embedding": lambda tf: [
        tf.nn.embedding_lookup([A[:2], A[2:]], [0, 1, 2], 1.0),
        tf.nn.embedding_lookup_sparse([A[:2], A[2:]], ids(tf), None, "mean", None, "found"),
        tf.nn.safe_embedding_lookup_sparse([A[:2], A[2:]], ids(tf), None, "sum", None, 1.5),
    ],
    "sampled": lambda tf: [
        loss(
            [tf.constant(P[:2]), tf.constant(P[2:])], tf.constant([0.1, 0.2, 0.3]),
            tf.constant([[0], [2]], tf.int64), tf.constant(P[:2]), 2, 3, 1, sampled(tf), True,
        )
        for loss in (tf.nn.nce_loss, tf.nn.sampled_softmax_loss)
    ],
    "fractional": lambda tf: [
        tf.nn.fractional_max_pool(IMAGES, 1.5, True, True, seed=3)[0],
        tf.nn.fractional_max_pool(IMAGES, [1.0, 1.5, 2.0, 1.0], seed=3)[0],
        tf.nn.fractional_avg_pool(IMAGES, [1.0, 1.5, 1.5, 1.0], seed=3)[0],
    ],
    "moments": lambda tf: [
        *tf.nn.moments(A, [0], None, True), *tf.nn.weighted_moments(A, [1], P, True),
        *tf.nn.sufficient_statistics(A, [1], 0.5, True),
    ],
    "cross_entropies": lambda tf: [
        tf.nn.sigmoid_cross_entropy_with_logits(P, A),
        tf.nn.softmax_cross_entropy_with_logits(P, A, 0),
        tf.nn.sparse_softmax_cross_entropy_with_logits([1, 2, 3], A, "sparse"),
        tf.nn.weighted_cross_entropy_with_logits(P, A, 2.0),
    ],
    "slope_of_labels": lambda tf: label_slope(tf),
    "ctc": lambda tf: [
        tf.nn.ctc_loss([[1, 2], [2, 1]], LOGITS, [2, 1], [5, 4]),
        tf.nn.ctc_beam_search_decoder(LOGITS, [5, 4], 3, 1)[1],
    ],
    "hessians": lambda tf: second(tf),
    "image_resize": lambda tf: [
        tf.image.resize(IMAGES, [4, 9], method, False, antialias)
        for method in (
            *("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian"),
            *("mitchellcubic", tf.image.ResizeMethod.BICUBIC),
        )
        for antialias in (False, True)
    ],
    "image_ratio": lambda tf: [
        tf.image.resize(IMAGES[0], [4, 9], preserve_aspect_ratio=True),
        tf.image.resize(IMAGES, [6, 6], "lanczos3"),
        tf.image.resize_with_pad(IMAGES, 4, 9, antialias=True),
        tf.image.resize_with_pad(IMAGES[0], 9, 4, "nearest"),
    ],
    "image_boxes": lambda tf: [
        tf.image.crop_and_resize(IMAGES, BOXES[:, 0], [1, 0], [3, 3], "nearest", 2.0),
        tf.image.draw_bounding_boxes(IMAGES[..., :1], BOXES, [[0.5]]),
        tf.image.extract_glimpse(IMAGES, [3, 3], [[0.9, 0.9], [0.0, 0.1]], noise="zero"),
        tf.shape(tf.image.sample_distorted_bounding_box([6, 6, 2], BOXES[:1], 3, 0.5)[2]),
    ],
    "poisson": lambda tf: tf.random.poisson([2], [0.0, 0.0, 0.0], tf.float64, 7),
    "sparse": lambda tf: [
        tf.sparse.add(sparse(tf), A[:2, :3], 0), tf.sparse.reduce_sum(sparse(tf), 0, True),
        tf.sparse.to_dense(tf.sparse.reduce_max(sparse(tf), 1, False, True)),
        tf.sparse.to_dense(tf.sparse.reduce_sum(sparse(tf), 1, output_is_sparse=True)),
        tf.sparse.to_dense(tf.sparse.concat(1, [sparse(tf), sparse(tf)], False, "joined")),
        tf.sparse.to_dense(tf.sparse.split(sparse(tf), 3, 1)[2]),
        tf.sparse.segment_sum(A, [0, 2], [0, 2], 4), tf.sparse.segment_mean(A, [0, 2], [0, 0]),
        tf.sparse.segment_sqrt_n(A, [0, 2], [0, 0], 2),
    ],
    "strings": lambda tf: [
        tf.strings.length("häh", "UTF8_CHAR"), tf.strings.reduce_join([["a", "b"]], 1, True, "-"),
        tf.strings.split(["a b", "c"]).to_tensor(), tf.strings.split("a,b,c", ",", 1),
        tf.strings.substr("hällo", 1, 2, "UTF8_CHAR"), tf.strings.to_number("2.5", tf.float64),
        tf.strings.to_hash_bucket(input=["a", "b"], num_buckets=10),
    ],
    "initializers": lambda tf: [
        tf.zeros_initializer()([2]), tf.ones_initializer()([2], tf.int32),
        tf.constant_initializer(2)([2]), tf.keras.initializers.Identity(2.0)([2, 3]),
        tf.initializers.Constant([1.0, 2.0])([2], tf.float64),
    ],
}  # fmt: skip
LOGITS = RANDOM.normal(size=(5, 2, 4)).astype(np.float32)


def sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 1], [1, 0], [1, 2]], np.float32([1.5, -2.0, 3.0]), [2, 3])


def ids(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [1, 0], [1, 1]], np.int64([2, 0, 1]), [2, 2])


def sampled(tf: Any) -> Any:
    return tf.constant([1, 2], tf.int64), tf.constant([[0.5], [0.4]]), tf.constant([0.3, 0.2])


def label_slope(tf: Any) -> Any:
    labels = tf.constant(P)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels, A)
    return tf.gradients(loss, labels, name="slopes", stop_gradients=None)[0]


def second(tf: Any) -> Any:
    x = tf.constant([1.0, 2.0])
    return tf.hessians(tf.reduce_sum(x**3), [x], False, None, "curves")


def placed(tf: Any) -> Any:
    with tf.device("/cpu:0"), tf.name_scope("inner") as scope:
        return tf.constant(scope)


def outcome(v1: Any, v2: Any, build: Callable[[Any], Any]) -> Any:
    with v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        return session.run(build(v2))


@pytest.mark.parametrize("name", CASES)
def test_a_call_gives_tensorflows_value(tf: Any, name: str) -> None:
    found = outcome(capstan, capstan.compat.v2, CASES[name])
    expected = outcome(tf.compat.v1, tf.compat.v2, CASES[name])
    flat = capstan.nest.flatten(found), capstan.nest.flatten(expected)
    assert len(flat[0]) == len(flat[1])
    assert isinstance(found, list) == isinstance(expected, list)
    for ours, theirs in zip(*flat, strict=True):
        comparison.close(ours, theirs, 1e-4, 1e-5)


def events(v1: Any, folder: pathlib.Path) -> list[Any]:
    """Return the summaries of the only file of a folder: step, tag, metadata and tensor."""
    (path,) = folder.iterdir()
    return [
        (event.step, value.tag, value.metadata.SerializeToString(), v1.make_ndarray(value.tensor))
        for event in v1.train.summary_iterator(str(path))
        for value in event.summary.value
    ]


def summaries(tf: Any) -> None:
    summary = tf.summary
    with tf.name_scope("outer"):
        summary.scalar("loss", tf.constant(3), step=7, description="what is lost")
        summary.text("words", tf.constant(["a", "b"]), step=7)
    summary.experimental.set_step(9)
    for name, data in (("a", A), ("same", np.ones(5)), ("none", np.zeros(0))):
        summary.histogram(name, tf.constant(data), buckets=4)
    summary.histogram("b", tf.constant(A))
    summary.image("pictures", tf.constant(IMAGES), max_outputs=1, description="two")
    summary.image("bytes", tf.constant(np.uint8(IMAGES * 200)))
    summary.audio("sounds", tf.constant(np.sin(LINES)), 44100, max_outputs=5)
    summary.write("own", tf.constant([1, 2]), step=8)
    with summary.record_if(False):
        summary.scalar("hidden", 1.0)
    summary.experimental.set_step(None)


def test_summaries_are_those_of_tensorboards_plugins(tf: Any, tmp_path: pathlib.Path) -> None:
    found = []
    for number, (v1, v2) in enumerate(((capstan, capstan.compat.v2), (tf.compat.v1, tf.compat.v2))):
        folder = tmp_path / str(number)
        with v1.Graph().as_default(), v1.Session() as session:
            writer = v2.summary.create_file_writer(str(folder))
            with writer.as_default():
                summaries(v2)
            session.run(writer.init())
            session.run(v1.summary.all_v2_summary_ops())
            session.run(writer.close())
        found.append(sorted(events(tf.compat.v1, folder), key=lambda event: event[1]))
    for ours, theirs in zip(*found, strict=True):
        assert ours[:3] == theirs[:3]
        if ours[1] in ("pictures", "bytes"):
            assert ours[3][:2].tolist() == theirs[3][:2].tolist()
            with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
                for pair in zip(ours[3][2:], theirs[3][2:], strict=True):
                    left, right = session.run([tf.io.decode_png(file) for file in pair])
                    np.testing.assert_array_equal(left, right)
        elif ours[1] == "sounds":
            np.testing.assert_array_equal(ours[3], theirs[3])
        else:
            comparison.close(ours[3], theirs[3], 1e-9)
