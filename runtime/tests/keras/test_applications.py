"""The networks of `tf.keras.applications`: their sizes, arguments, weights and classes.

tests/oracle/test_keras_applications.py compares layers and values with Keras.
"""

import hashlib
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
keras = tf.keras
applications = keras.applications

PARAMETERS = {
    "VGG16": 138357544, "VGG19": 143667240, "ResNet50": 25636712, "ResNet101": 44707176,
    "ResNet152": 60419944, "ResNet50V2": 25613800, "ResNet101V2": 44675560,
    "ResNet152V2": 60380648, "InceptionV3": 23851784, "InceptionResNetV2": 55873736,
    "MobileNet": 4253864, "MobileNetV2": 3538984, "DenseNet121": 8062504,
    "DenseNet169": 14307880, "DenseNet201": 20242984, "NASNetMobile": 5326716,
    "NASNetLarge": 88949818, "Xception": 22910480,
}  # fmt: skip
"""The numbers of parameters in the documentation of Keras."""


@pytest.fixture(autouse=True)
def _graph(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Iterator[None]:
    monkeypatch.setenv("HOME", str(tmp_path))
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


LARGE = ("ResNet101", "ResNet152", "ResNet101V2", "ResNet152V2", "DenseNet121", "DenseNet169",
         "DenseNet201", "InceptionResNetV2", "InceptionV3", "ResNet50", "VGG19",
         "NASNetLarge", "NASNetMobile")  # fmt: skip
"""Networks whose graphs take seconds to build."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.soak] * (name in LARGE)) for name in PARAMETERS],
)
def test_a_network_has_the_number_of_parameters_of_keras(name: str) -> None:
    model = getattr(applications, name)(weights=None)
    assert model.count_params() == PARAMETERS[name]
    assert model.output_shape == (None, 1000)


def test_a_network_takes_other_shapes_and_classes() -> None:
    assert applications.VGG16(weights=None, include_top=False).output_shape == (
        None, None, None, 512,
    )  # fmt: skip
    small = applications.MobileNetV2((96, 96, 3), 0.35, weights=None, classes=7)
    assert small.output_shape == (None, 7)
    assert small.name == "mobilenetv2_0.35_96"
    for pooling in ("avg", "max"):
        pooled = applications.MobileNet(
            (64, 32, 1), 0.25, weights=None, include_top=False, pooling=pooling
        )
        assert pooled.output_shape == (None, 256)


def test_a_network_continues_the_layers_of_a_tensor() -> None:
    images = keras.Input((40, 40, 3))
    halved = keras.layers.AveragePooling2D(1)(images)
    model = applications.MobileNet(
        input_tensor=halved, input_shape=(40, 40, 3), weights=None, include_top=False
    )
    assert model.inputs == [images]
    assert keras.utils.get_source_inputs(model.output) == [images]
    tensor = tf.zeros([1, 40, 40, 3])
    own = applications.MobileNet(
        input_tensor=tensor, input_shape=(40, 40, 3), weights=None, include_top=False
    )
    assert own.inputs[0].shape.as_list() == [1, 40, 40, 3]


def test_the_channels_may_come_first() -> None:
    keras.backend.set_image_data_format("channels_first")
    try:
        model = applications.ResNet50(weights=None, include_top=False, input_shape=(3, 32, 48))
        assert model.output_shape == (None, 2048, 1, 2)
    finally:
        keras.backend.set_image_data_format("channels_last")


def test_weights_come_from_a_file_or_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    pytest.importorskip("h5py")
    options = {"input_shape": (128, 128, 3), "alpha": 0.25, "include_top": False}
    model = applications.MobileNet(weights=None, **options)
    expected = model.get_weights()
    cache = tmp_path / ".keras/models"
    cache.mkdir(parents=True)
    path = cache / "mobilenet_2_5_128_tf_no_top.h5"
    model.save_weights(str(path))
    for weights in (str(path), "imagenet"):
        with tf.Graph().as_default():
            read = applications.MobileNet(weights=weights, **options)
            for mine, other in zip(read.get_weights(), expected, strict=True):
                np.testing.assert_array_equal(mine, other)
            keras.backend.set_session(None)


def test_a_failed_download_names_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    module = "capstan.keras.applications.vgg._ORIGIN"
    monkeypatch.setattr(module, (tmp_path / "nowhere").as_uri() + "/")
    with pytest.raises(OSError, match=r"nowhere/vgg16_weights.*Download the file by yourself to "):
        applications.VGG16(include_top=False)
    assert not list((tmp_path / ".keras/models").iterdir())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: applications.VGG16(weights="missing.h5"), "missing.h5"),
        (lambda: applications.VGG16(classes=10), "`classes` should be 1000"),
        (lambda: applications.VGG16(input_shape=(300, 300, 3)), "should be \\(224, 224, 3\\)"),
        (lambda: applications.VGG16(False, None, None, (20, 64, 3)), "at least 32x32"),
        (lambda: applications.VGG16(False, None, None, (64, 64)), "three integers"),
        (lambda: applications.VGG16(False, "imagenet", None, (64, 64, 1)), "3 channels"),
        (lambda: applications.VGG16(True, None, None, (None, 64, 3)), "static `input_shape`"),
        (lambda: applications.MobileNet(alpha=0.3), "alpha can be one of"),
        (lambda: applications.MobileNet(depth_multiplier=2), "depth multiplier must be 1"),
        (lambda: applications.MobileNetV2(alpha=0.3), "alpha can be one of"),
        (lambda: applications.imagenet_utils.decode_predictions(np.zeros((2, 10))), "1000"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_predictions_get_the_names_of_their_classes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    classes = {str(number): [f"n{number}", f"name {number}"] for number in range(1000)}
    content = json.dumps(classes).encode()
    source = tmp_path / "classes.json"
    source.write_bytes(content)
    utils = "capstan.keras.applications.imagenet_utils"
    monkeypatch.setattr(f"{utils}._CLASSES", source.as_uri())
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    monkeypatch.setattr(f"{utils}._HASH", digest)
    shares = np.random.RandomState(1).uniform(size=(2, 1000))
    found = applications.vgg16.decode_predictions(shares, top=3)
    for row, best in zip(shares, found, strict=True):
        order = np.argsort(-row)[:3]
        assert best == [(f"n{each}", f"name {each}", row[each]) for each in order]
