"""`tf.keras.applications.imagenet_utils`: the images and the classes of ImageNet
(keras_applications/imagenet_utils.py).
"""

import json
from typing import Any

import numpy as np

from capstan.api import math_ops as _math_ops
from capstan.api import ordering_ops as _ordering_ops
from capstan.api.absent import absent
from capstan.api.layers import settings as _settings
from capstan.framework import convert as _convert
from capstan.keras import downloads as _downloads

_CLASSES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
_HASH = "c2c37ea517e94d9795004a39431a14cb"
_BLUE_GREEN_RED = (103.939, 116.779, 123.68)
_MEANS, _DEVIATIONS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Return images of the values 0 to 255 as the models of a mode need them.

    "caffe" exchanges red and blue, and subtracts the means of ImageNet. "tf" gives the values -1 to
    1. "torch" divides by 255, subtracts the means, and divides by the deviations. `x` is an array
    or a tensor of one image or of several. An array of floats changes itself.

    Raises:
        ValueError: the format is unknown.
    """
    axis = -1 if _settings.data_format(data_format) == "channels_last" else -3
    is_array = isinstance(x, np.ndarray)
    if is_array and not np.issubdtype(x.dtype, np.floating):
        x = x.astype(_settings.SETTINGS.floatx)
    if mode == "tf":
        return _changed(x, 127.5, 1.0) if is_array else x / 127.5 - 1.0
    if mode == "torch":
        means, deviations = (_channels(each, axis, x) for each in (_MEANS, _DEVIATIONS))
        return (
            _changed(x, 255.0, means, deviations) if is_array else (x / 255.0 - means) / deviations
        )
    means = _channels(_BLUE_GREEN_RED, axis, x)
    if is_array:
        return _changed(np.flip(x, axis), 1.0, means)
    return _ordering_ops.reverse(x, [x.shape.ndims + axis]) - means


def _channels(values: Any, axis: int, x: Any) -> Any:
    """Return a value for each channel, in the shape and the type that fit the images."""
    array = np.reshape(values, (3,) + (1,) * (-1 - axis))
    if isinstance(x, np.ndarray):
        return array
    return _math_ops.cast(_convert.constant(array, dtype="float32"), x.dtype)


def _changed(x: np.ndarray, divisor: float, subtracted: Any, scale: Any = None) -> np.ndarray:
    """Change an array itself, and return it."""
    x /= divisor
    x -= subtracted
    if scale is not None:
        x /= scale
    return x


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """Return the `top` most probable classes of each image: their codes, names and probabilities.

    `preds` is an array [images, 1000]. The names are in `imagenet_class_index.json` in
    `~/.keras/models`. The file is downloaded if it is not there.

    Raises:
        ValueError: the array has another shape.
    """
    if len(preds.shape) != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape "
            f"(samples, 1000)). Found array with shape: {preds.shape}"
        )
    path = _downloads.get_file(
        "imagenet_class_index.json",
        _CLASSES,
        cache_subdir="models",
        file_hash=_HASH,
    )
    with open(path, encoding="utf-8") as file:
        classes = json.load(file)
    best = np.argsort(preds, -1)[:, : -top - 1 : -1]
    return [
        [(*classes[str(number)], row[number]) for number in numbers]
        for row, numbers in zip(preds, best, strict=True)
    ]


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.imagenet_utils", name)
