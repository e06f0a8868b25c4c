"""`tf.keras.applications.vgg19` (keras_applications/vgg19.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import vgg as _vgg

_HASHES = ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6")


VGG19 = _architecture.public(
    "VGG19", lambda arguments: _vgg.network(arguments, "vgg19", (2, 2, 4, 4, 4), _HASHES)
)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "caffe" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="caffe")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.vgg19", name)
