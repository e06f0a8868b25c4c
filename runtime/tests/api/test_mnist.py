"""The files and the model of MNIST in TensorFlow's tutorials."""

import gzip
import pathlib
import struct
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.examples.tutorials.mnist import input_data
from capstan.examples.tutorials.mnist import mnist as models


def write(folder: pathlib.Path, name: str, header: str, *values: Any) -> None:
    data = struct.pack(header, *values[:-1]) + bytes(values[-1])
    if name.endswith(".gz"):
        data = gzip.compress(data)
    (folder / name).write_bytes(data)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> str:
    """Six images to train with and two to test with. Every pixel of image n is n."""
    pixels = np.repeat(np.arange(6), 6)
    write(tmp_path, "train-images-idx3-ubyte.gz", ">4I", 2051, 6, 2, 3, pixels.tolist())
    write(tmp_path, "train-labels-idx1-ubyte.gz", ">2I", 2049, 6, range(6))
    write(tmp_path, "t10k-images-idx3-ubyte", ">4I", 2051, 2, 2, 3, pixels[:12].tolist())
    write(tmp_path, "t10k-labels-idx1-ubyte", ">2I", 2049, 2, range(2))
    return str(tmp_path)


def test_images_and_labels_are_split_scaled_and_flattened(folder: str) -> None:
    mnist = input_data.read_data_sets(folder, one_hot=True, validation_size=2)
    assert [each.num_examples for each in mnist] == [4, 2, 2]
    assert mnist.train.images.shape == (4, 6)
    assert mnist.train.images.dtype == np.float32
    np.testing.assert_allclose(mnist.train.images[:, 0] * 255, [2, 3, 4, 5])
    np.testing.assert_array_equal(mnist.validation.labels, np.eye(10)[:2])
    plain = input_data.read_data_sets(folder, dtype=tf.uint8, reshape=False, validation_size=0)
    assert plain.train.images.shape == (6, 2, 3, 1)
    assert plain.test.images[1].max() == plain.test.labels[1] == 1


def test_each_epoch_has_every_image_once(folder: str) -> None:
    train = input_data.read_data_sets(folder, validation_size=0, seed=1).train
    labels = np.concatenate([train.next_batch(4)[1] for _ in range(3)])
    assert sorted(labels[:6]) == sorted(labels[6:]) == list(range(6))
    assert train.epochs_completed == 1
    images, labels = train.next_batch(2)
    np.testing.assert_allclose(images[:, 0] * 255, labels)
    again = input_data.read_data_sets(folder, validation_size=0, seed=1).train
    ordered = input_data.read_data_sets(folder, validation_size=0).test
    assert again.next_batch(6)[1].tolist() != list(range(6))
    assert ordered.next_batch(2, shuffle=False)[1].tolist() == [0, 1]


def test_the_images_and_labels_of_an_open_file_are_read(folder: str) -> None:
    from capstan.contrib.learn.python.learn.datasets import mnist

    path = pathlib.Path(folder)
    with open(path / "train-images-idx3-ubyte.gz", "rb") as packed:
        assert mnist.extract_images(packed)[:, 1, 2, 0].tolist() == list(range(6))
    with tf.gfile.Open(str(path / "t10k-labels-idx1-ubyte"), "rb") as plain:
        assert mnist.extract_labels(plain, one_hot=True, num_classes=3).tolist() == [
            [1, 0, 0],
            [0, 1, 0],
        ]
    with (
        open(path / "t10k-images-idx3-ubyte", "rb") as images,
        pytest.raises(ValueError, match=r"Invalid magic number 2051 in MNIST label file: .*idx3"),
    ):
        mnist.extract_labels(images)


def test_fake_data_need_no_files() -> None:
    mnist = input_data.read_data_sets("/none", fake_data=True, one_hot=True)
    images, labels = mnist.train.next_batch(3, fake_data=True)
    assert np.shape(images) == (3, 784)
    assert np.shape(labels) == (3, 10)


def test_missing_files_are_named(folder: str) -> None:
    path = pathlib.Path(folder)
    (path / "train-labels-idx1-ubyte.gz").unlink()
    (path / "t10k-labels-idx1-ubyte").unlink()
    message = "lacks train-labels-idx1-ubyte.gz, t10k-labels-idx1-ubyte.gz. Capstan downloads"
    with pytest.raises(tf.errors.NotFoundError, match=message):
        input_data.read_data_sets(folder)


def test_wrong_files_and_arguments_are_refused(folder: str) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 6\. Received: 5000"):
        input_data.read_data_sets(folder)
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        input_data.read_data_sets(folder, dtype=tf.int32, validation_size=0)
    write(pathlib.Path(folder), "t10k-labels-idx1-ubyte", ">2I", 2051, 2, range(2))
    with pytest.raises(ValueError, match=r"Invalid magic number 2051 in MNIST label file"):
        input_data.read_data_sets(folder, validation_size=0)


def test_the_model_computes_logits_loss_and_correct_examples() -> None:
    draw = np.random.default_rng(1)
    images = draw.random((20, models.IMAGE_PIXELS), np.float32)
    labels = draw.integers(0, models.NUM_CLASSES, 20).astype(np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        logits = models.inference(tf.constant(images), 16, 8)
        loss = models.loss(logits, tf.constant(labels))
        train_op = models.training(loss, 0.1)
        correct_count = models.evaluation(logits, tf.constant(labels))
        session.run(tf.global_variables_initializer())
        assert [var.op.name for var in tf.trainable_variables()] == [
            f"{scope}/{name}"
            for scope in ("hidden1", "hidden2", "softmax_linear")
            for name in ("weights", "biases")
        ]
        weights = session.run(tf.trainable_variables()[::2])
        hidden = np.maximum(np.maximum(images @ weights[0], 0) @ weights[1], 0)
        scores = hidden @ weights[2]
        found = session.run([logits, loss, correct_count])
        np.testing.assert_allclose(found[0], scores, rtol=1e-4, atol=1e-5)
        log_sums = np.log(np.exp(scores).sum(axis=1))
        expected_loss = np.mean(log_sums - scores[np.arange(20), labels])
        np.testing.assert_allclose(found[1], expected_loss, rtol=1e-4)
        # An example is correct, too, if its label is one of several with the largest score.
        is_correct = found[0][np.arange(20), labels] == found[0].max(axis=1)
        assert found[2] == np.sum(is_correct)
        assert 0.5 < weights[1].std() * np.sqrt(16) < 1
        session.run(train_op)
        assert session.run("global_step:0") == 1
        assert session.run(loss) < found[1]
        assert tf.get_collection(tf.GraphKeys.SUMMARIES)[0].op.name == "loss"
