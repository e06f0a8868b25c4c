"""The networks of `tf.keras.applications` have the layers of Keras's, in the same order.

Later versions of Keras have other names of the last layer, and of the layers of DenseNet.
"""

from collections.abc import Iterator
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RENAMED = {"probs": "predictions", "Logits": "predictions", "fc1000": "predictions"}


@pytest.fixture
def theirs(tf: Any) -> Any:
    import keras

    return keras.applications


@pytest.fixture
def _without_models(theirs: Any) -> Iterator[None]:
    """Remove the models of Keras. That collects the garbage of the whole process."""
    import keras

    keras.backend.clear_session()
    yield
    keras.backend.clear_session()


def names(model: Any) -> list[str]:
    found = [layer.name.replace("/", "_") for layer in model.layers]
    return [RENAMED.get(name, name) for name in found if not name.startswith("input_")]


@pytest.mark.usefixtures("_without_models")
@pytest.mark.parametrize(
    "name",
    [
        *("ResNet50V2", "Xception"),
        *(
            pytest.param(name, marks=pytest.mark.soak)
            for name in ("DenseNet121", "InceptionV3", "NASNetMobile")
        ),
    ],
)
def test_the_layers_are_in_the_order_of_keras(theirs: Any, name: str) -> None:
    expected = getattr(theirs, name)(weights=None)
    with capstan.Graph().as_default():
        model = getattr(capstan.keras.applications, name)(weights=None)
        assert names(model) == names(expected)
        shapes = [tuple(each.shape.as_list()) for each in model.weights]
    assert sorted(shapes) == sorted(tuple(each.shape) for each in expected.weights)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("rank", [3, 4])
def test_images_are_prepared_as_by_keras(
    theirs: Any, mode: str, data_format: str, rank: int
) -> None:
    shape = [2, 5, 4, 3] if data_format == "channels_last" else [2, 3, 5, 4]
    images = np.random.RandomState(4).randint(0, 256, shape[4 - rank :]).astype(np.uint8)
    expected = theirs.imagenet_utils.preprocess_input(images, data_format, mode)
    prepare = capstan.keras.applications.imagenet_utils.preprocess_input
    actual = prepare(images, data_format, mode)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
    floats = images.astype(np.float32)
    with capstan.Graph().as_default(), capstan.Session() as session:
        tensor = session.run(prepare(capstan.constant(floats), data_format, mode))
    np.testing.assert_allclose(tensor, expected, rtol=1e-5, atol=1e-5)
