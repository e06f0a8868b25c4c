"""`tf.keras.applications.nasnet`: Learning Transferable Architectures for Scalable Image
Recognition, https://arxiv.org/abs/1707.07012 (keras_applications/nasnet.py).
"""

from dataclasses import dataclass
from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import nasnet_cells as _nasnet_cells


@dataclass(frozen=True, slots=True)
class _Sizes:
    images: int
    filters: int
    blocks: int
    stem: int
    skips_reduction: bool
    files: _architecture.Files


def _files(name: str, hashes: tuple[str, str]) -> _architecture.Files:
    origin = "https://github.com/titu1994/Keras-NASNet/releases/download/v1.2/"
    names = f"NASNet-{name}.h5", f"NASNet-{name}-no-top.h5"
    return _architecture.Files(
        origin, names, hashes, (f"nasnet_{name}.h5", f"nasnet_{name}_no_top.h5")
    )


_LARGE = _Sizes(
    331, 168, 6, 96, True,
    _files("large", ("11577c9a518f0070763c2b964a382f17", "d81d89dc07e6e56530c4e77faddd61b5")),
)  # fmt: skip
_MOBILE = _Sizes(
    224, 44, 4, 32, False,
    _files("mobile", ("020fb642bf7360b370c678b08e0adf61", "1ed92395b5b598bdda52abe5c0dbfd63")),
)  # fmt: skip


def _network(arguments: _architecture.Arguments, sizes: _Sizes) -> Any:
    images = x = arguments.images(sizes.images, 32, needs_size=True)
    x = layers.Conv2D(sizes.stem, 3, 2, use_bias=False, name="stem_conv1",
                      kernel_initializer="he_normal")(x)  # fmt: skip
    x = _nasnet_cells.normalized(x, "stem_bn1")
    filters, blocks = sizes.filters, sizes.blocks
    x, before = _nasnet_cells.reduction(x, None, filters // 4, "stem_1")
    x, before = _nasnet_cells.reduction(x, before, filters // 2, "stem_2")
    for stage in range(3):
        if stage:
            filters *= 2
            x, earlier = _nasnet_cells.reduction(x, before, filters, f"reduce_{stage * blocks}")
            before = before if sizes.skips_reduction else earlier
        for number in range(blocks):
            place = stage * blocks + number + min(stage, 1)
            x, before = _nasnet_cells.normal(x, before, filters, str(place))
    x = layers.Activation("relu")(x)
    x = arguments.classified(x, "predictions", average=None)
    return arguments.model(images, x, "NASNet", sizes.files)


def NASNetLarge(
    input_shape: Any = None,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Return the network NASNetLarge. `tf.keras.applications` describes the arguments."""
    arguments = _architecture.Arguments(
        include_top, weights, input_tensor, input_shape, pooling, classes
    )
    return _network(arguments, _LARGE)


def NASNetMobile(
    input_shape: Any = None,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Return the network NASNetMobile. `tf.keras.applications` describes the arguments."""
    arguments = _architecture.Arguments(
        include_top, weights, input_tensor, input_shape, pooling, classes
    )
    return _network(arguments, _MOBILE)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.nasnet", name)
