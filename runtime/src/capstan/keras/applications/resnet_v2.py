"""`tf.keras.applications.resnet_v2`: the networks ResNet50V2, ResNet101V2 and ResNet152V2
(keras_applications/resnet_v2.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import residual as _residual

ResNet50V2 = _architecture.public(
    "ResNet50V2",
    lambda arguments: _residual.second(
        arguments,
        "resnet50v2",
        (3, 4, 6, 3),
        ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    ),
)
ResNet101V2 = _architecture.public(
    "ResNet101V2",
    lambda arguments: _residual.second(
        arguments,
        "resnet101v2",
        (3, 4, 23, 3),
        ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    ),
)
ResNet152V2 = _architecture.public(
    "ResNet152V2",
    lambda arguments: _residual.second(
        arguments,
        "resnet152v2",
        (3, 8, 36, 3),
        ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
    ),
)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.resnet_v2", name)
