"""Summaries have the tags and values of TensorFlow's, and steps fail with the same messages."""

import io
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from PIL import Image

import capstan

pytestmark = genuine.MARKS

Program = Callable[[Any], Any]
RANDOM = np.random.default_rng(7)
FLOATS = RANDOM.normal(size=(4, 3, 5, 3)).astype(np.float32)
HOLES = FLOATS.copy()
HOLES[0, 1, 2, 1], HOLES[1, 0, 0, 0] = np.nan, np.inf
SOUND = np.float32([[0.5, -0.5, 1.5, -2, 1e-5, 0.9999999], [0, 0.25, -1, 1, 0.1, -0.1]])


def in_scope(tf: Any) -> Any:
    with tf.name_scope("outer"):
        return tf.summary.scalar("in ner/$", 2, family="fam ily")


PROGRAMS: dict[str, Program] = {
    "scalar": lambda tf: tf.summary.scalar("s", 2.5),
    "integer": lambda tf: tf.summary.scalar("s", tf.constant(-3, tf.int64)),
    "scalar in a scope": in_scope,
    "too large a scalar": lambda tf: tf.summary.scalar("s", tf.constant(1e60, tf.float64)),
    "histogram": lambda tf: tf.summary.histogram("h", FLOATS, family="f"),
    "histogram of halves": lambda tf: tf.summary.histogram("h", tf.constant(FLOATS, tf.float16)),
    "histogram of integers": lambda tf: tf.summary.histogram(
        "h", tf.constant(np.arange(-50, 50) ** 3)
    ),
    "empty histogram": lambda tf: tf.summary.histogram("h", np.zeros((0, 3), np.float32)),
    "unnamed histogram": lambda tf: tf.summary.histogram(None, [1.0, 2.0, 1e19]),
    "images": lambda tf: tf.summary.image("i", FLOATS),
    "one image": lambda tf: tf.summary.image("i", np.abs(FLOATS), max_outputs=1, family="f"),
    "images with holes": lambda tf: tf.summary.image("i", HOLES),
    "grey image of doubles": lambda tf: tf.summary.image(
        "i", tf.constant(FLOATS[..., :1], tf.float64)
    ),
    "image of halves": lambda tf: tf.summary.image("i", tf.constant(FLOATS, tf.float16)),
    "image of bytes": lambda tf: tf.summary.image(
        "i", tf.constant(np.arange(48, dtype=np.uint8).reshape(1, 4, 3, 4))
    ),
    "black image": lambda tf: tf.summary.image("i", np.zeros((1, 2, 2, 1), np.float32)),
    "sounds": lambda tf: tf.summary.audio("a", SOUND, 44100.7),
    "stereo": lambda tf: tf.summary.audio("a", SOUND.reshape(1, 6, 2), 8000, max_outputs=1),
    "slow sound": lambda tf: tf.summary.audio("a", SOUND, 0.3, family="f"),
    "silence of no length": lambda tf: tf.summary.audio("a", np.zeros((1, 0), np.float32), 1),
    "text": lambda tf: tf.summary.text("t", tf.constant([["a", "b"], ["c", "d"]])),
    "tensor": lambda tf: tf.summary.tensor_summary("t", FLOATS, "about", display_name="shown"),
    "merge": lambda tf: tf.summary.merge([tf.summary.scalar("a", 1), tf.summary.scalar("b", 2)]),
}
FAULTS: dict[str, Program] = {
    "vector": lambda tf: tf.summary.scalar("s", [1.0, 2.0]),
    "nan": lambda tf: tf.summary.histogram("h", [1.0, np.nan]),
    "two channels": lambda tf: tf.summary.image("i", FLOATS[..., :2]),
    "three dimensions": lambda tf: tf.summary.image("i", FLOATS[0]),
    "no pixels": lambda tf: tf.summary.image("i", FLOATS[:, :0]),
    "sound of four dimensions": lambda tf: tf.summary.audio("a", FLOATS, 1.0),
    "no rate": lambda tf: tf.summary.audio("a", SOUND, 0.0),
    "two rates": lambda tf: tf.summary.audio("a", SOUND, [1.0, 2.0]),
    "same tag": lambda tf: tf.summary.merge([tf.summary.scalar("a", 1)] * 2),
    "no summary": lambda tf: tf.summary.merge([tf.constant(b"\xff")]),
}
REFUSED: dict[str, Program] = {
    "nothing to merge": lambda tf: tf.summary.merge([]),
    "text of numbers": lambda tf: tf.summary.text("t", tf.constant(1.0, name="one")),
    "no images": lambda tf: tf.summary.image("i", FLOATS, max_outputs=0),
    "image of integers": lambda tf: tf.summary.image("i", tf.zeros((1, 2, 2, 1), tf.int64)),
    "truth": lambda tf: tf.summary.scalar("s", True),
}


def outcome(tf: Any, program: Program) -> Any:
    """Run `program` in a session of its own."""
    with tf.Graph().as_default():
        summary = program(tf)
        with tf.Session() as session:
            return session.run(summary)


def message_of(data: bytes) -> Any:
    """Return a Summary, and its images as arrays. Files of the same image may differ."""
    summary = capstan.Summary.FromString(data)
    images = []
    for value in summary.value:
        if value.HasField("image"):
            file = io.BytesIO(value.image.encoded_image_string)
            images.append(np.asarray(Image.open(file)).tolist())
            value.image.encoded_image_string = b""
    return summary, images


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_summary_is_tensorflows(v1: Any, name: str) -> None:
    expected = message_of(outcome(v1, PROGRAMS[name]))
    found = message_of(outcome(capstan, PROGRAMS[name]))
    for summary, _ in (expected, found):
        for value in summary.value:
            # The order of the additions differs.
            value.histo.sum = float(np.float32(value.histo.sum))
            value.histo.sum_squares = float(np.float32(value.histo.sum_squares))
    assert found == expected


@pytest.mark.parametrize("name", FAULTS)
def test_a_step_fails_with_tensorflows_message(v1: Any, name: str) -> None:
    with pytest.raises(v1.errors.InvalidArgumentError) as expected:
        outcome(v1, FAULTS[name])
    with pytest.raises(capstan.errors.InvalidArgumentError) as found:
        outcome(capstan, FAULTS[name])
    assert found.value.message.partition("\n")[0] in expected.value.message


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_are_refused_as_by_tensorflow(v1: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        outcome(v1, REFUSED[name])
    with pytest.raises(type(expected.value)) as found:
        outcome(capstan, REFUSED[name])
    ours, theirs = str(found.value), str(expected.value)
    # TensorFlow's list of types holds bfloat16.
    assert ours.partition(" not in list")[0] == theirs.partition(" not in list")[0]


def test_the_collections_of_summaries_are_tensorflows(v1: Any) -> None:
    def names(tf: Any) -> Any:
        with tf.Graph().as_default() as graph:
            assert tf.summary.merge_all() is None
            tf.summary.scalar("a", 1)
            with tf.name_scope("inner"):
                tf.summary.histogram("b", [1.0])
                tf.summary.scalar("c", 1, collections=["mine", "yours"])
            merged = tf.summary.merge_all(), tf.summary.merge_all("mine", name="all of mine")
            tf.summary.merge_all(scope="inner")
            found = {
                key: [t.name for t in graph.get_collection(key)]
                for key in ("summaries", "mine", "yours")
            }
            inputs = [[t.name for t in each.op.inputs] for each in merged]
            return (
                found,
                inputs,
                [op.name for op in graph.get_operations() if op.type == "MergeSummary"],
            )

    assert names(capstan) == names(v1)
