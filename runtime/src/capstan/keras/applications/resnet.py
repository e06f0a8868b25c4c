"""`tf.keras.applications.resnet`: the networks ResNet50, ResNet101 and ResNet152
(keras_applications/resnet.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import residual as _residual

ResNet50 = _architecture.public(
    "ResNet50",
    lambda arguments: _residual.first(
        arguments,
        "resnet50",
        (3, 4, 6, 3),
        ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    ),
)
ResNet101 = _architecture.public(
    "ResNet101",
    lambda arguments: _residual.first(
        arguments,
        "resnet101",
        (3, 4, 23, 3),
        ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    ),
)
ResNet152 = _architecture.public(
    "ResNet152",
    lambda arguments: _residual.first(
        arguments,
        "resnet152",
        (3, 8, 36, 3),
        ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
    ),
)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "caffe" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="caffe")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.resnet", name)
