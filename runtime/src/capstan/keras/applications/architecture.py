"""What all models of `tf.keras.applications` share: their inputs, their ends, and their weights.

Source: keras_applications (the version 1.0.8 for TensorFlow 1.15).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from capstan.api import logging
from capstan.api.layers import settings
from capstan.keras import backend, downloads, input_sources, layers, network


@dataclass(frozen=True, slots=True)
class Files:
    """The weights for ImageNet on the Web, and their names on this machine.

    The pair has the file of the whole model, and that of the model without its top.
    """

    origin: str
    names: tuple[str, str]
    hashes: tuple[str | None, str | None] = (None, None)
    saved: tuple[str, str] | None = None
    """The names on this machine, if they are other ones."""

    @classmethod
    def of(cls, origin: str, name: str, hashes: tuple[str, str]) -> "Files":
        """Return the files whose names follow a pattern."""
        base = f"{name}_weights_tf_dim_ordering_tf_kernels"
        return cls(origin, (f"{base}.h5", f"{base}_notop.h5"), hashes)

    def path(self, place: int) -> str:
        """Return the path of a file in `~/.keras/models`. It is downloaded if it is not there."""
        name = self.names[place]
        return downloads.get_file(
            (self.saved or self.names)[place],
            self.origin + name,
            cache_subdir="models",
            file_hash=self.hashes[place],
        )


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a model.

    `weights` is "imagenet", the path of a file, or None. Without the top, `pooling` is "avg", "max"
    or None.
    """

    include_top: bool
    weights: Any
    input_tensor: Any
    input_shape: Any
    pooling: str | None
    classes: int

    def images(self, default_size: int, min_size: int, needs_size: bool = False) -> Any:
        """Return the tensor of the images.

        Raises:
            ValueError: the arguments do not fit each other, or the images are too small.
        """
        if self.weights not in ("imagenet", None) and not os.path.exists(self.weights):
            raise ValueError(
                "The `weights` argument should be either `None` (random initialization), "
                "`imagenet` (pre-training on ImageNet), or the path to the weights file to be "
                f"loaded. There is no file {self.weights}"
            )
        if self.weights == "imagenet" and self.include_top and self.classes != 1000:
            raise ValueError(
                'If using `weights` as `"imagenet"` with `include_top` as true, `classes` should '
                "be 1000"
            )
        shape = self._shape(default_size, min_size, self.include_top or needs_size)
        if self.input_tensor is None:
            return layers.Input(shape=shape)
        if backend.is_keras_tensor(self.input_tensor):
            return self.input_tensor
        return layers.Input(tensor=self.input_tensor, shape=shape)

    def _shape(self, default_size: int, min_size: int, needs_size: bool) -> tuple[Any, ...]:
        given, is_imagenet = self.input_shape, self.weights == "imagenet"
        channels = 3
        if given and len(given) == 3 and not is_imagenet:
            channels = given[0] if is_channels_first() else given[-1]
            if channels not in (1, 3):
                logging.warning(
                    "This model usually expects 1 or 3 input channels. However, it was passed an "
                    "input_shape with %s input channels.",
                    channels,
                )
        default = _image(default_size, default_size, channels)
        if is_imagenet and needs_size:
            if given is not None and tuple(given) != default:
                raise ValueError(
                    "When setting `include_top=True` and loading `imagenet` weights, "
                    f"`input_shape` should be {default}."
                )
            return default
        if not given:
            return default if needs_size else _image(None, None, 3)
        return _checked(given, min_size, is_imagenet, needs_size)

    def pooled(self, x: Any, names: tuple[str | None, str | None] = (None, None)) -> Any:
        """Return the output without the top, pooled over the places of the image."""
        if self.pooling == "avg":
            return layers.GlobalAveragePooling2D(name=names[0])(x)
        return layers.GlobalMaxPooling2D(name=names[1])(x) if self.pooling == "max" else x

    def classified(
        self, x: Any, dense: str, average: str | None = "avg_pool", largest: str | None = None
    ) -> Any:
        """Return the probabilities of the classes, or the pooled output without the top."""
        if not self.include_top:
            return self.pooled(x, (average if largest else None, largest))
        x = layers.GlobalAveragePooling2D(name=average)(x)
        return layers.Dense(self.classes, activation="softmax", name=dense)(x)

    def model(self, images: Any, x: Any, name: str, files: Files | None) -> Any:
        """Return the model from the images to `x`, with its weights.

        Raises:
            OSError: the weights for ImageNet cannot be downloaded.
            ValueError: there are none for this model.
        """
        inputs = images
        if self.input_tensor is not None:
            found = input_sources.get_source_inputs(images)
            inputs = found[0] if len(found) == 1 else found
        model = network.Model(inputs, x, name=name)
        if self.weights == "imagenet":
            if files is None:
                raise ValueError(f"There are no weights for ImageNet of the model {name}")
            model.load_weights(files.path(0 if self.include_top else 1))
        elif self.weights is not None:
            model.load_weights(self.weights)
        return model


def is_channels_first() -> bool:
    """Return whether the channels of images come before their rows."""
    return settings.SETTINGS.image_data_format == "channels_first"


def channel_axis() -> int:
    """Return the axis of the channels in a batch of images."""
    return 1 if is_channels_first() else 3


def sizes(x: Any) -> list[Any]:
    """Return the height, the width and the number of channels of images."""
    found = x.shape.as_list()[1:]
    return [found[1], found[2], found[0]] if is_channels_first() else found


def correct_pad(x: Any, kernel: int) -> Any:
    """Return the padding for a convolution of stride 2 that ends where Slim's ends."""
    height, width, _ = sizes(x)
    half = kernel // 2
    adjusted = (1, 1) if height is None else (1 - height % 2, 1 - width % 2)
    return tuple((half - each, half) for each in adjusted)


def _image(height: Any, width: Any, channels: int) -> tuple[Any, ...]:
    is_first = is_channels_first()
    return (channels, height, width) if is_first else (height, width, channels)


def _checked(given: Any, min_size: int, is_imagenet: bool, needs_size: bool) -> tuple[Any, ...]:
    """Return a shape of images that a program gives, after checks."""
    if len(given) != 3:
        raise ValueError("`input_shape` must be a tuple of three integers.")
    channels, height, width = given if is_channels_first() else (given[2], given[0], given[1])
    if channels != 3 and is_imagenet:
        raise ValueError(f"The input must have 3 channels; got `input_shape={given}`")
    if any(size is not None and size < min_size for size in (height, width)):
        raise ValueError(
            f"Input size must be at least {min_size}x{min_size}; got `input_shape={given}`"
        )
    if needs_size and None in given:
        raise ValueError(
            "If `include_top` is True, you should specify a static `input_shape`. Got "
            f"`input_shape={given}`"
        )
    return tuple(given)


def public(name: str, build: Callable[[Arguments], Any]) -> Callable[..., Any]:
    """Return the public function `name`, which calls `build` with its arguments."""

    def model(
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
    ) -> Any:
        return build(Arguments(include_top, weights, input_tensor, input_shape, pooling, classes))

    model.__name__ = model.__qualname__ = name
    model.__doc__ = f"Return the network {name}. `tf.keras.applications` describes the arguments."
    return model
