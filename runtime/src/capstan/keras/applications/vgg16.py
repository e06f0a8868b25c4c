"""`tf.keras.applications.vgg16` (keras_applications/vgg16.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import vgg as _vgg

_HASHES = ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc")


VGG16 = _architecture.public(
    "VGG16", lambda arguments: _vgg.network(arguments, "vgg16", (2, 2, 3, 3, 3), _HASHES)
)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "caffe" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="caffe")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.vgg16", name)
