"""Pools of `tf.nn` over sequences, images and volumes, and with places (python/ops/nn_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from capstan.api import deprecation, nn_convolution, nn_image_pools, nn_volumes
from capstan.api.nn_space_to_batch import with_space_to_batch
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "avg_pool1d", "avg_pool_v2", "max_pool1d", "max_pool_v2", "max_pool_with_argmax", "pool",
]  # fmt: skip

_POOLS: Final[dict[tuple[str, int], Callable[..., Any]]] = {
    ("MAX", 1): nn_image_pools.max_pool,
    ("MAX", 2): nn_image_pools.max_pool,
    ("MAX", 3): nn_volumes.max_pool3d,
    ("AVG", 1): nn_image_pools.avg_pool,
    ("AVG", 2): nn_image_pools.avg_pool,
    ("AVG", 3): nn_volumes.avg_pool3d,
}


def max_pool_with_argmax(
    input: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """Return the largest element of each window of `ksize`, and the number of that element.

    The elements of an image are numbered by row, column and channel, or those of the batch by image
    too if `include_batch_in_index`. `Targmax` is the old name of `output_dtype`, the type of the
    numbers: int64 by default, or int32.

    Raises:
        ValueError: the format is not "NHWC", or both `Targmax` and `output_dtype` are given.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    kind = deprecation.deprecated_argument_lookup("output_dtype", output_dtype, "Targmax", Targmax)
    return raw.MaxPoolWithArgmax(
        input,
        ksize=list(ksize),
        strides=list(strides),
        Targmax=dtypes.int64 if kind is None else dtypes.as_dtype(kind),
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of sequences [batch, width, channels], or "NCW".

    `ksize` and `strides` are numbers, or have one number for each axis.
    """
    with scoped(name, "MaxPool1d", (input,)) as scope:
        return _sequences("MAX", input, ksize, strides, padding, data_format, scope)


def avg_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Any:
    """Return the mean of each window of sequences, as `max_pool1d`. Padding does not count."""
    with scoped(name, "AvgPool1D", (input,)) as scope:
        return _sequences("AVG", input, ksize, strides, padding, data_format, scope)


def _sequences(
    kind: str,
    sequences: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    scope: str | None,
) -> Any:
    """Pool sequences as images of one row."""
    row, layout = nn_convolution.row_layout(data_format)
    window = nn_convolution.per_row_axis(ksize, layout, "ksize")
    steps = nn_convolution.per_row_axis(strides, layout, "strides")
    images = raw.ExpandDims(sequences, row)
    result = _POOLS[kind, 1](images, window, steps, padding, layout, name=scope)
    return raw.Squeeze(result, squeeze_dims=[row])


def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of sequences, images or volumes.

    `ksize` and `strides` are a number, one number for each spatial axis, or one for each axis.

    Raises:
        ValueError: the rank of `input` is not 3, 4 or 5, or the rank and the format are unknown.
    """
    return _any_rank("MAX", input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the mean of each window of sequences, images or volumes, as `max_pool_v2`."""
    return _any_rank("AVG", input, ksize, strides, padding, data_format, name)


def _any_rank(
    kind: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Any:
    value = convert.convert_to_tensor(value, name="input")
    rank = value.shape.ndims
    if rank is None and data_format is None:
        raise ValueError("The input must have a rank or a data format must be given.")
    count = (len(data_format or "") if rank is None else rank) - 2
    if not 1 <= count <= 3:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {count + 2}.")
    if count == 1:
        build = max_pool1d if kind == "MAX" else avg_pool1d
        return build(value, ksize, strides, padding, data_format, name)
    return _pooled(kind, count, value, ksize, strides, padding, data_format, name)


def _pooled(
    kind: str,
    count: int,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Any:
    """Pool sequences, images or volumes, which have `count` spatial axes."""
    if count == 1:
        return _sequences(kind, value, ksize, strides, padding, data_format, name)
    channels_first = (data_format or "").startswith("NC")
    window, steps = (
        nn_convolution.per_axis(numbers, count, channels_first, argument)
        for numbers, argument in ((ksize, "ksize"), (strides, "strides"))
    )
    layout = data_format or ("NHWC" if count == 2 else "NDHWC")
    return _POOLS[kind, count](value, window, steps, padding, layout, name)


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """Return the largest element or the mean of each window of sequences, images or volumes.

    `pooling_type` is "MAX" or "AVG". `window_shape`, `strides` and `dilation_rate` have one number
    for each spatial axis. The elements of a window are `dilation_rate` apart. `dilations` is a
    newer name of it. Strides and rates are 1 by default.

    Raises:
        ValueError: the windows do not have 1 to 3 axes or the input does not fit them, an argument
            has another length, a stride and a rate are both above 1, a stride is above the size of
            the window, or windows are dilated although the padding is "SAME".
    """
    rates = dilation_rate if dilations is None else dilations
    with scoped(name, f"{pooling_type.lower()}_pool", (input,)) as scope:
        images = convert.convert_to_tensor(input, name="input")
        count = len(window_shape)
        if not 1 <= count <= 3:
            raise ValueError("It is required that 1 <= num_spatial_dims <= 3.")
        images.shape.with_rank(count + 2)
        steps, rate = _steps_and_rates(strides, rates, count)
        if padding == "SAME" and any(each > 1 for each in rate):
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if any(step > size for step, size in zip(steps, window_shape, strict=True)):
            raise ValueError(
                f"strides {steps} > window_shape {list(window_shape)} not supported due to "
                "inconsistency between CPU and GPU implementations"
            )
        if (pooling_type, count) not in _POOLS:
            raise ValueError(f"{count}-D {pooling_type} pooling is not supported.")

        def pooled(values: Any, _: int, padding: str) -> Any:
            sizes = (list(window_shape), steps, padding, data_format)
            return _pooled(pooling_type, count, values, *sizes, scope)

        first = 2 if (data_format or "").startswith("NC") else 1
        axes = range(first, first + count)
        return with_space_to_batch(images, rate, padding, pooled, window_shape, axes)


def _steps_and_rates(strides: Any, rates: Any, count: int) -> tuple[list[int], list[int]]:
    steps, rate = ([1] * count if each is None else list(each) for each in (strides, rates))
    for about, given in (("dilation_rate", rate), ("strides", steps)):
        if len(given) != count:
            raise ValueError(f"len({about})={len(given)} but should be {count}")
        if any(each < 1 for each in given):
            raise ValueError(f"all values of {about} must be positive, not {given}")
    if any(each > 1 for each in steps) and any(each > 1 for each in rate):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return steps, rate
