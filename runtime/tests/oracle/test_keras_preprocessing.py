"""`tf.keras.preprocessing` returns what the preprocessing of Keras and SciPy return."""

import itertools
import pathlib
import random
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(7)
IMAGES = RANDOM.uniform(0, 255, (6, 9, 7, 3)).astype(np.float32)
LABELS = RANDOM.randint(0, 3, 6)
WEIGHTS = RANDOM.uniform(0, 1, 6)
TEXTS = ["The cat sat on the mat.", "A dog! the DOG sat;", "cat\tand dog", ""]
OURS = capstan.keras.preprocessing
Modules = tuple[Any, Any]


def transformed(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Any:
    """Transform an image with SciPy, about the center of TensorFlow 1.15.

    Later versions of Keras have another center, and exchange the axes.
    """
    from scipy import ndimage

    if (theta, tx, ty, shear, zx, zy) == (0, 0, 0, 0, 1, 1):
        return x
    angle, slope = np.deg2rad([theta, shear])
    rotation = [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    sheared = [[1, -np.sin(slope), 0], [0, np.cos(slope), 0], [0, 0, 1]]
    center = [x.shape[row_axis] / 2 + 0.5, x.shape[col_axis] / 2 + 0.5]
    matrix = np.array(rotation) @ [[1, 0, tx], [0, 1, ty], [0, 0, 1]] @ sheared
    matrix = matrix @ np.diag([zx, zy, 1])
    offset = center - matrix[:2, :2] @ center + matrix[:2, 2]
    planes = [
        ndimage.affine_transform(plane, matrix[:2, :2], offset, order=order, mode=fill_mode,
                                 cval=cval)
        for plane in np.moveaxis(x, channel_axis, 0)
    ]  # fmt: skip
    return np.stack(planes, channel_axis)


@pytest.fixture
def theirs(tf: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    from keras.src.legacy.preprocessing import image, sequence, text
    from keras.src.utils import image_utils, sequence_utils

    class Preprocessing:
        image: Any
        sequence: Any
        text: Any

    Preprocessing.image, Preprocessing.sequence, Preprocessing.text = image, sequence, text
    monkeypatch.setattr(image, "apply_affine_transform", transformed)
    for name in ("load_img", "img_to_array", "array_to_img"):
        monkeypatch.setattr(image, name, getattr(image_utils, name), raising=False)
    monkeypatch.setattr(sequence, "pad_sequences", sequence_utils.pad_sequences, raising=False)
    return Preprocessing


def both(theirs: Any, call: Callable[[Any], Any]) -> Modules:
    """Return the results of both libraries, which begin with the same random numbers."""
    results = []
    for library in (OURS, theirs):
        np.random.seed(3)
        random.seed(3)
        results.append(call(library))
    return results[0], results[1]


def same(theirs: Any, call: Callable[[Any], Any], **tolerance: float) -> None:
    ours, wanted = both(theirs, call)
    for mine, other in zip(flat(ours), flat(wanted), strict=True):
        assert np.asarray(mine).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(mine, other, **{"rtol": 1e-6, "atol": 1e-4, **tolerance})


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in flat(each)]
    return [value]


PADDED: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"maxlen": 2},
    "long, post": {"maxlen": 7, "padding": "post", "value": -1},
    "short, post": {"maxlen": 2, "truncating": "post", "dtype": "float32", "value": 0.5},
}


@pytest.mark.parametrize("name", PADDED)
def test_sequences_are_padded_as_by_keras(theirs: Any, name: str) -> None:
    rows = [[1, 2, 3], [], [4], [5, 6, 7, 8]]
    same(theirs, lambda k: k.sequence.pad_sequences(rows, **PADDED[name]))
    vectors = [np.ones((2, 3)), np.ones((4, 3))]
    same(theirs, lambda k: k.sequence.pad_sequences(vectors, **PADDED[name]))


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_skipgrams_are_those_of_keras(theirs: Any, categorical: bool, shuffle: bool) -> None:
    table = OURS.sequence.make_sampling_table(30, 1e-3)
    words = [0, 3, 1, 2, 5, 29, 0, 8, 8, 12]
    same(
        theirs,
        lambda k: k.sequence.skipgrams(
            words, 30, window_size=2, shuffle=shuffle, categorical=categorical,
            sampling_table=table, negative_samples=1.5,
        ),
    )  # fmt: skip
    same(theirs, lambda k: k.sequence.make_sampling_table(20))


WINDOWS: dict[str, dict[str, Any]] = {
    "default": {},
    "sampled": {"sampling_rate": 2, "stride": 3, "batch_size": 4},
    "part": {"start_index": 5, "end_index": 18, "batch_size": 3, "reverse": True},
    "shuffled": {"shuffle": True, "batch_size": 5},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_a_time_series_are_those_of_keras(theirs: Any, name: str) -> None:
    data = np.arange(60).reshape(30, 2)

    def batches(k: Any) -> Any:
        made = k.sequence.TimeseriesGenerator(data, data[:, 0], 6, **WINDOWS[name])
        return [made[number] for number in range(len(made))]

    same(theirs, batches)


TOKENIZERS: dict[str, dict[str, Any]] = {
    "default": {},
    "few words": {"num_words": 4},
    "unknown words": {"num_words": 4, "oov_token": "<OOV>"},
    "characters": {"char_level": True, "lower": False},
    "other separator": {"split": "a", "filters": "t"},
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_words_have_the_numbers_of_keras(theirs: Any, name: str) -> None:
    def numbered(k: Any) -> Any:
        made = k.text.Tokenizer(**TOKENIZERS[name])
        made.fit_on_texts(TEXTS)
        made.fit_on_sequences([[1, 2], [2, 3]])
        read = k.text.tokenizer_from_json(made.to_json())
        assert read.get_config() == made.get_config()
        sequences = read.texts_to_sequences([*TEXTS, "a new cat"])
        matrices = [
            read.sequences_to_matrix(sequences, mode=mode)
            for mode in ("binary", "count", "freq", "tfidf")
        ]
        texts = read.sequences_to_texts([*sequences, [99, 1]])
        config = read.get_config()
        return matrices, sequences, texts, config

    (ours, *listed), (wanted, *expected) = both(theirs, numbered)
    assert listed == expected
    np.testing.assert_allclose(ours, wanted)


def test_texts_are_split_and_hashed_as_by_keras(theirs: Any) -> None:
    for text in TEXTS:
        for call in (
            lambda k, text=text: k.text.text_to_word_sequence(text),
            lambda k, text=text: k.text.text_to_word_sequence(text, "a", False, "t"),
            lambda k, text=text: k.text.one_hot(text, 50),
            lambda k, text=text: k.text.hashing_trick(text, 50, "md5"),
        ):
            ours, wanted = both(theirs, call)
            assert ours == wanted


@given(
    theta=st.floats(-180, 180),
    shift=st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
    shear=st.floats(-60, 60),
    zoom=st.tuples(st.floats(0.3, 3), st.floats(0.3, 3)),
    mode=st.sampled_from(["constant", "nearest", "reflect", "wrap"]),
    order=st.sampled_from([0, 1]),
)
def test_affine_transformations_are_those_of_scipy(
    theta: float,
    shift: tuple[float, float],
    shear: float,
    zoom: tuple[float, float],
    mode: str,
    order: int,
) -> None:
    rest = (shear, *zoom, 0, 1, 2, mode, 9.0, order)
    ours = OURS.image.apply_affine_transform(IMAGES[0], theta, *shift, *rest)
    # At the border of two pixels, or of the image, rounding decides which of them a pixel gets.
    # Shifts that differ by much more than rounding give it one of them or the other.
    changes = itertools.product((-1e-7, 0, 1e-7), repeat=2)
    is_close = np.zeros(ours.shape, bool)
    for change in changes:
        wanted = transformed(IMAGES[0], theta, *np.add(shift, change), *rest)
        is_close |= np.isclose(ours, wanted, rtol=1e-5, atol=1e-2)
    assert is_close.all()


CHANGES: dict[str, Callable[[Any], Any]] = {
    "rotation": lambda i: i.random_rotation(IMAGES[0], 40, 0, 1, 2),
    "shift": lambda i: i.random_shift(IMAGES[0], 0.2, 0.4, 0, 1, 2, "constant", 3.0),
    "shear": lambda i: i.random_shear(IMAGES[0], 30, 0, 1, 2, "reflect"),
    "zoom": lambda i: i.random_zoom(IMAGES[0], (0.6, 1.4), 0, 1, 2, "wrap"),
    "no zoom": lambda i: i.random_zoom(IMAGES[0], (1, 1), 0, 1, 2),
    "channels": lambda i: i.random_channel_shift(IMAGES[0], 30.0, 2),
    "brightness": lambda i: i.random_brightness(IMAGES[0], (0.5, 1.5)),
    "darker": lambda i: i.apply_brightness_shift(IMAGES[0], 0.3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_random_changes_of_an_image_are_those_of_keras(theirs: Any, name: str) -> None:
    same(theirs, lambda k: CHANGES[name](k.image))


GENERATORS: dict[str, dict[str, Any]] = {
    "default": {},
    "all changes": {
        "rotation_range": 20, "width_shift_range": 0.2, "height_shift_range": [-2, 0, 1],
        "shear_range": 10, "zoom_range": 0.3, "channel_shift_range": 20, "horizontal_flip": True,
        "vertical_flip": True, "fill_mode": "reflect",
    },
    "pixels": {"width_shift_range": 3, "height_shift_range": 2.5, "rescale": 1 / 255},
    "of samples": {"samplewise_center": True, "samplewise_std_normalization": True},
    "of features": {"featurewise_std_normalization": True, "preprocessing_function": np.sqrt},
    "whitened": {"zca_whitening": True, "rescale": 0.01},
    "first channels": {"data_format": "channels_first", "rotation_range": 30},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:This ImageDataGenerator specifies")
@pytest.mark.parametrize("name", GENERATORS)
def test_batches_of_arrays_are_those_of_keras(theirs: Any, name: str) -> None:
    options = GENERATORS[name]
    images = IMAGES.transpose(0, 3, 1, 2) if "data_format" in options else IMAGES

    def batches(k: Any) -> Any:
        made = k.image.ImageDataGenerator(validation_split=0.4, **options)
        made.fit(images, augment=True, seed=1)
        flow = made.flow(images, LABELS, batch_size=4, sample_weight=WEIGHTS, seed=2)
        by_number = [flow[number] for number in range(len(flow))]
        flow.on_epoch_end()
        return by_number, [next(flow) for _ in range(3)]

    same(theirs, batches, rtol=1e-4, atol=2e-2)


def test_batches_have_other_inputs_and_parts_of_the_examples(theirs: Any) -> None:
    def batches(k: Any) -> Any:
        made = k.image.ImageDataGenerator(validation_split=0.34)
        found = []
        for subset in ("training", "validation"):
            flow = made.flow((IMAGES, [LABELS, WEIGHTS]), batch_size=2, subset=subset, shuffle=True)
            found += [next(flow), len(flow)]
        return found

    same(theirs, batches)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for number, image in enumerate(np.concatenate([IMAGES, IMAGES])):
        home = tmp_path / f"class{number % 3}" / ("inner" if number % 2 else "")
        home.mkdir(parents=True, exist_ok=True)
        OURS.image.save_img(home / f"{number}.{('png', 'jpg', 'bmp')[number % 3]}", image)
    (tmp_path / "class1" / "no_image.txt").write_text("text", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("class_mode", ["categorical", "binary", "sparse", "input", None])
@pytest.mark.parametrize("color_mode", ["rgb", "rgba", "grayscale"])
def test_batches_of_a_folder_are_those_of_keras(
    theirs: Any, folder: pathlib.Path, class_mode: str | None, color_mode: str
) -> None:
    def batches(k: Any) -> Any:
        made = k.image.ImageDataGenerator(validation_split=0.3, horizontal_flip=True)
        flow = made.flow_from_directory(
            str(folder), (8, 6), color_mode, class_mode=class_mode, batch_size=5, seed=4,
            subset="training", interpolation="bilinear",
        )  # fmt: skip
        numbers = flow.class_indices, flow.filenames, flow.classes.tolist()
        assert numbers[0] == {"class0": 0, "class1": 1, "class2": 2}
        assert len(numbers[1]) == 9
        return [next(flow) for _ in range(3)], flow.classes

    same(theirs, batches)


def test_images_in_files_are_those_of_keras(theirs: Any, folder: pathlib.Path) -> None:
    path = str(folder / "class0" / "0.png")

    def loaded(k: Any) -> Any:
        whole = k.image.img_to_array(k.image.load_img(path))
        small = k.image.load_img(path, color_mode="grayscale", target_size=(4, 3),
                                 interpolation="lanczos")  # fmt: skip
        plane = k.image.img_to_array(small, data_format="channels_first")
        again = np.asarray(k.image.array_to_img(whole[:, :, :1] * 3, scale=False))
        return whole, plane, again

    same(theirs, loaded)
