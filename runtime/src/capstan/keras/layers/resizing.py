"""`tf.keras.layers` that pad, cut and enlarge sequences, images and volumes
(python/keras/layers/convolutional.py).
"""

from typing import Any

from capstan.api import arrangement_ops, array_ops
from capstan.api.image import ResizeMethod, resize_images
from capstan.api.layers import input_spec, plain_arguments, settings
from capstan.keras import built_in


def _pairs(value: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    """Return the sizes in front and behind for each spatial axis.

    Raises:
        ValueError: `value` is not an int, nor an int or a pair for each axis.
    """
    if isinstance(value, int):
        return ((value, value),) * rank
    if not isinstance(value, list | tuple):
        raise ValueError(  # noqa: TRY004 - what Keras raises
            f"`{name}` should be either an int, or a tuple of {rank} ints or pairs of ints. Found: "
            f"{value}"
        )
    axes = [value] if rank == 1 else list(value)
    if len(axes) != rank:
        raise ValueError(f"`{name}` should have {rank} elements. Found: {value}")
    return tuple((each, each) if isinstance(each, int) else _pair(each, name) for each in axes)


def _margins(value: Any, rank: int, name: str) -> tuple[Any, ...]:
    """Return the sizes as an attribute of a layer: a pair for sequences, else a tuple of pairs."""
    pairs = _pairs(value, rank, name)
    return pairs[0] if rank == 1 else pairs


def _pair(value: Any, name: str) -> tuple[int, int]:
    before, behind = plain_arguments.normalize_tuple(value, 2, name)
    return before, behind


class Spatial(built_in.BuiltIn):
    """A layer that treats the spatial axes of its inputs, and not the batch and the channels."""

    rank = 2

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = "channels_last" if self.rank == 1 else settings.data_format(data_format)
        self.input_spec = input_spec.InputSpec(ndim=self.rank + 2)

    def _with_others(self, axes: Any, other: Any) -> list[Any]:
        """Return a list with `other` for the batch and the channels."""
        if self.data_format == "channels_first":
            return [other, other, *axes]
        return [other, *axes, other]


class ZeroPadding(Spatial):
    """Puts zeros around each example. `padding` is an int, or an int or pair for each axis."""

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _margins(padding, self.rank, "padding")

    def call(self, inputs: Any) -> Any:
        pairs = _pairs(self.padding, self.rank, "padding")
        return array_ops.pad(inputs, [list(each) for each in self._with_others(pairs, (0, 0))])


class ZeroPadding1D(ZeroPadding):
    """Puts zeros in front of sequences and behind them."""

    rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(padding, **kwargs)


class ZeroPadding2D(ZeroPadding):
    """Puts zeros around images."""


class ZeroPadding3D(ZeroPadding):
    """Puts zeros around volumes."""

    rank = 3


class Cropping(Spatial):
    """Cuts the borders off each example. `cropping` is an int, or an int or pair for each axis."""

    def __init__(self, cropping: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _margins(cropping, self.rank, "cropping")

    def call(self, inputs: Any) -> Any:
        pairs = _pairs(self.cropping, self.rank, "cropping")
        kept = [slice(before, -behind or None) for before, behind in pairs]
        return inputs[tuple(self._with_others(kept, slice(None)))]


class Cropping1D(Cropping):
    """Cuts steps off the ends of sequences."""

    rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)


class Cropping2D(Cropping):
    """Cuts the borders off images."""

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(Cropping):
    """Cuts the borders off volumes."""

    rank = 3

    def __init__(
        self,
        cropping: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class UpSampling(Spatial):
    """Repeats each element along the spatial axes, `size` times along each."""

    def __init__(self, size: Any = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        numbers = plain_arguments.normalize_tuple(size, self.rank, "size")
        self.size: Any = numbers[0] if self.rank == 1 else numbers

    def call(self, inputs: Any) -> Any:
        sizes = (self.size,) if self.rank == 1 else self.size
        for axis, size in enumerate(self._with_others(sizes, 1)):
            inputs = arrangement_ops.repeat(inputs, size, axis=axis) if size != 1 else inputs
        return inputs


class UpSampling1D(UpSampling):
    """Repeats each step of sequences `size` times."""

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(size, **kwargs)


class UpSampling2D(UpSampling):
    """Enlarges images: repeats pixels, or interpolates between them (`bilinear`)."""

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if the interpolation is unknown."""
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                '`interpolation` argument should be one of `"nearest"` or `"bilinear"`, not '
                f"{interpolation!r}"
            )
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        if self.interpolation == "nearest":
            return super().call(inputs)
        is_first = self.data_format == "channels_first"
        images = array_ops.transpose(inputs, perm=[0, 2, 3, 1]) if is_first else inputs
        sizes = array_ops.shape(images)[1:3] * list(self.size)
        enlarged = resize_images(images, sizes, ResizeMethod.BILINEAR)
        known = images.shape.as_list()
        rows, columns = (
            None if known[1 + axis] is None else known[1 + axis] * self.size[axis]
            for axis in range(2)
        )
        enlarged.set_shape([known[0], rows, columns, known[3]])
        return array_ops.transpose(enlarged, perm=[0, 3, 1, 2]) if is_first else enlarged


class UpSampling3D(UpSampling):
    """Repeats each element of volumes along their three axes."""

    rank = 3

    def __init__(
        self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
