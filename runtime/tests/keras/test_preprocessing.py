"""`tf.keras.preprocessing`: its batches train models, and its errors say what is wrong.

tests/oracle/test_keras_preprocessing.py compares the values with those of Keras.
"""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
preprocessing = tf.keras.preprocessing
image = preprocessing.image

RANDOM = np.random.RandomState(4)
IMAGES = RANDOM.uniform(0, 1, (12, 4, 4, 1)).astype(np.float32)
LABELS = (IMAGES.mean((1, 2, 3)) > 0.5).astype(np.float32)


def classifier() -> Any:
    layers = [tf.keras.layers.Flatten(input_shape=(4, 4, 1)), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile("sgd", "mse")
    return model


def test_a_model_trains_with_batches_of_changed_images() -> None:
    flow = image.ImageDataGenerator(horizontal_flip=True).flow(IMAGES, LABELS, 5, seed=1)
    model = classifier()
    history = model.fit_generator(flow, epochs=2, validation_data=flow, verbose=0)
    assert set(history.history) == {"loss", "val_loss"}
    assert len(history.history["loss"]) == 2
    assert np.isfinite(model.evaluate_generator(flow, verbose=0))
    images = image.ImageDataGenerator().flow(IMAGES, batch_size=5, shuffle=False)
    np.testing.assert_allclose(
        model.predict_generator(images), model.predict(IMAGES), rtol=1e-4, atol=1e-6
    )


def test_fit_takes_a_sequence_and_ends_its_epochs() -> None:
    class Pairs(tf.keras.utils.Sequence):
        epochs = 0

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            return IMAGES[index * 4 : index * 4 + 4], LABELS[index * 4 : index * 4 + 4]

        def on_epoch_end(self) -> None:
            self.epochs += 1

    pairs = Pairs()
    assert len(list(pairs)) == 3
    model = classifier()
    model.fit(pairs, epochs=2, verbose=0)
    assert pairs.epochs == 2
    expected = model.evaluate(IMAGES, LABELS, verbose=0)
    np.testing.assert_allclose(model.evaluate(pairs, verbose=0), expected, rtol=1e-5)


def test_a_model_trains_with_windows_of_a_time_series() -> None:
    series = np.sin(np.arange(40, dtype=np.float32))[:, np.newaxis]
    windows = preprocessing.sequence.TimeseriesGenerator(series, series, 5, batch_size=8)
    assert windows[0][0].shape == (8, 5, 1)
    layers = [tf.keras.layers.Flatten(input_shape=(5, 1)), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile("sgd", "mse")
    losses = model.fit(windows, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for number, each in enumerate(IMAGES):
        image.save_img(tmp_path / f"{number}.png", each)
    return tmp_path


TABLE: dict[str, list[Any]] = {
    "filename": ["0.png", "1.png", "missing.png", "2.png", "3.png"],
    "class": ["b", "a", "a", "b", ["a", "b"]],
    "height": [1.0, 2.0, 3.0, 4.0, 5.0],
    "width": [5, 6, 7, 8, 9],
}


def flow(folder: pathlib.Path, table: Any = TABLE, **options: Any) -> Any:
    generator = image.ImageDataGenerator(validation_split=0.5)
    arguments = {"target_size": (4, 4), "color_mode": "grayscale", "shuffle": False, **options}
    return generator.flow_from_dataframe(table, folder, **arguments)


def test_batches_of_a_table_have_the_targets_of_their_rows(folder: pathlib.Path) -> None:
    images, targets = flow(folder)[0]
    np.testing.assert_array_equal(targets, [[0, 1], [1, 0], [0, 1], [1, 1]])
    expected = image.img_to_array(image.load_img(folder / "1.png", color_mode="grayscale"))
    np.testing.assert_array_equal(images[1], expected)
    np.testing.assert_array_equal(flow(folder, classes=["a"])[0][1], [[1], [1]])
    _, heights, weights = flow(folder, class_mode="raw", y_col="height", weight_col="width")[0]
    np.testing.assert_array_equal(heights, [1, 2, 4, 5])
    np.testing.assert_array_equal(weights, [5, 6, 8, 9])
    several = flow(folder, class_mode="multi_output", y_col=["height", "width"])
    np.testing.assert_array_equal(several[0][1], [[1, 2, 4, 5], [5, 6, 8, 9]])
    both = flow(folder, class_mode="raw", y_col=["height", "width"])[0][1]
    np.testing.assert_array_equal(both, [[1, 5], [2, 6], [4, 8], [5, 9]])
    assert flow(folder, class_mode=None)[0].shape == (4, 4, 4, 1)
    assert flow(folder, subset="training").filenames == ["2.png", "3.png"]
    assert flow(folder, subset="validation").filenames == ["0.png", "1.png"]
    single = {**TABLE, "class": ["b", "a", "a", "b", "a"]}
    np.testing.assert_array_equal(flow(folder, single, class_mode="binary")[0][1], [1, 0, 1, 0])


def test_batches_are_saved_as_images(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    flow(folder, save_to_dir=str(saved), save_prefix="mine", save_format="jpeg").next()
    assert len(list(saved.glob("mine_*.jpeg"))) == 4
    next(image.ImageDataGenerator().flow(IMAGES, batch_size=3, save_to_dir=str(saved)))
    assert len(list(saved.glob("_*.png"))) == 3


def test_a_brightness_of_1_stretches_the_values_to_all_of_a_byte() -> None:
    values = np.array([[[10.0], [20.0]], [[30.0], [60.0]]], np.float32)
    bright = image.apply_brightness_shift(values, 1.0)
    np.testing.assert_array_equal(bright, [[[0], [51]], [[102], [255]]])
    generator = image.ImageDataGenerator(brightness_range=(0.5, 0.5))
    np.testing.assert_allclose(generator.random_transform(values, seed=1), bright / 2, atol=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: preprocessing.sequence.pad_sequences([1, 2]),
        lambda: preprocessing.sequence.pad_sequences([[1]], padding="both"),
        lambda: preprocessing.sequence.pad_sequences([[[1]], [[1, 2]]]),
        lambda: preprocessing.sequence.pad_sequences([["a"]], value="b"),
        lambda: preprocessing.sequence.TimeseriesGenerator([1, 2], [1], 1),
        lambda: preprocessing.sequence.TimeseriesGenerator([1, 2], [1, 2], 2),
        lambda: preprocessing.text.Tokenizer().sequences_to_matrix([[1]]),
        lambda: preprocessing.text.Tokenizer(3).sequences_to_matrix([[1]], "tfidf"),
        lambda: preprocessing.text.Tokenizer(3).sequences_to_matrix([[1]], "sum"),
        lambda: image.array_to_img(np.zeros((2, 2))),
        lambda: image.array_to_img(np.zeros((2, 2, 2))),
        lambda: image.img_to_array(np.zeros(2)),
        lambda: image.load_img("missing.png", color_mode="blue"),
        lambda: image.random_zoom(IMAGES[0], (1, 2, 3)),
        lambda: image.random_brightness(IMAGES[0], (1, 2, 3)),
        lambda: image.apply_affine_transform(IMAGES[0], 5, order=3),
        lambda: image.apply_affine_transform(IMAGES[0], 5, fill_mode="black"),
        lambda: image.ImageDataGenerator(zoom_range=(1, 2, 3)),
        lambda: image.ImageDataGenerator(brightness_range=1),
        lambda: image.ImageDataGenerator(validation_split=2),
        lambda: image.ImageDataGenerator(data_format="last"),
        lambda: image.ImageDataGenerator().fit(IMAGES[0]),
        lambda: image.ImageDataGenerator().flow(IMAGES, LABELS[1:]),
        lambda: image.ImageDataGenerator().flow(IMAGES[0]),
        lambda: image.ImageDataGenerator().flow(IMAGES, subset="test"),
        lambda: image.ImageDataGenerator(validation_split=0.5).flow(
            IMAGES, np.arange(12), subset="training"
        ),
        lambda: image.ImageDataGenerator().flow(IMAGES, batch_size=12)[1],
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        call()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"class_mode": "other kind"}, ValueError),
        ({"color_mode": "blue"}, ValueError),
        ({"subset": "test"}, ValueError),
        ({"class_mode": "multi_output"}, TypeError),
        ({"x_col": "height"}, TypeError),
        ({"weight_col": "class"}, TypeError),
        ({"class_mode": "sparse", "y_col": "height"}, TypeError),
        ({"class_mode": "binary", "classes": ["a"], "y_col": "filename"}, ValueError),
    ],
)
def test_wrong_columns_are_refused(
    folder: pathlib.Path, options: dict[str, Any], error: type[Exception]
) -> None:
    table = {**TABLE, "class": ["b", "a", "a", "b", "a"]}
    with pytest.raises(error):
        flow(folder, table, **options)
