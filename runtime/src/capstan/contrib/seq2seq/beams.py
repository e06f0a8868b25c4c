"""Functions on beams (contrib/seq2seq/python/ops/beam_search_ops.py, beam_search_decoder.py).

A beam search keeps the best `beam_width` sequences of each example. They are its beams.
"""

from typing import Any

from capstan.api import array_ops, counting_ops, gather_ops, math_ops, nd_ops, nest, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the ids along each beam, in an int32 tensor of the shape [time, batch, beam].

    `step_ids` holds the ids that each step chose, and `parent_ids` the beams of the step before
    that they continue. Both have the shape of the result. `max_sequence_lengths`, a vector, is the
    number of steps of each example. The ids after the first `end_token` of a beam, and those of
    later steps, are `end_token`. A step raises InvalidArgumentError for a parent that is not a
    beam.
    """
    return raw.GatherTree(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """Return the elements of a stacked TensorArray in the order of the final beams.

    `t` has the shape [time, batch, beam, ...] or [time, batch * beam, ...], which is also that of
    the result. `parent_ids` has the shape [time, batch, beam], and `sequence_length` the shape
    [batch, beam]. Elements behind the end of a sequence keep their places.
    """
    parents = convert.convert_to_tensor(parent_ids)
    sizes = array_ops.shape(parents)
    steps, batch, width = sizes[0], sizes[1], sizes[2]
    own = raw.BroadcastTo(math_ops.range(width), sizes)
    lengths = convert.convert_to_tensor(sequence_length)
    last = math_ops.cast(reduce_ops.reduce_max(lengths, axis=1), "int32")
    followed = gather_tree(own, parents, last, width + 1)
    is_inside = raw.Transpose(counting_ops.sequence_mask(lengths, steps), [2, 0, 1])
    beams = gather_ops.where(is_inside, followed, own)
    times = raw.BroadcastTo(raw.Reshape(math_ops.range(steps), [-1, 1, 1]), sizes)
    examples = raw.BroadcastTo(raw.Reshape(math_ops.range(batch), [1, -1, 1]), sizes)
    t = convert.convert_to_tensor(t)
    wide = raw.Reshape(t, raw.ConcatV2([sizes, [-1]], 0))
    ordered = nd_ops.gather_nd(wide, raw.Pack([times, examples, beams], axis=-1))
    return raw.Reshape(ordered, raw.Shape(t))


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Return each example of a batch `multiplier` times, one after another.

    `t` is a tensor of the shape [batch, ...], or a nest of such tensors.

    Raises:
        ValueError: a tensor is a scalar, or its rank is unknown.
    """

    def tiled(value: Any) -> Any:
        if not value.shape.ndims:
            raise ValueError(
                f"t must have statically known rank of at least 1, but {value.name} has the shape "
                f"{value.shape}. Set its shape, or leave it out"
            )
        batch, *sizes = value.shape.as_list()
        wide = raw.Tile(raw.ExpandDims(value, 1), [1, multiplier] + [1] * len(sizes))
        before = raw.Shape(value)
        result = raw.Reshape(wide, raw.ConcatV2([before[:1] * multiplier, before[1:]], 0))
        result.set_shape([None if batch is None else batch * multiplier, *sizes])
        return result

    with scoped(name, "tile_batch", nest.flatten(t)):
        return nest.map_structure(lambda value: tiled(convert.convert_to_tensor(value)), t)


def split(value: Any, batch_size: Any, width: int, inner: Any) -> Any:
    """Return a tensor of the shape [batch * beam, ...] with the shape [batch, beam, ...].

    `inner` is the static shape of the other axes: a shape, an integer or a tensor.

    Raises:
        ValueError: the tensor cannot have the shape [batch, beam, *inner].
    """
    sizes = raw.ConcatV2([raw.Pack([batch_size, width]), raw.Shape(value)[1:]], 0)
    result = raw.Reshape(value, sizes)
    batch = convert.constant_value(convert.convert_to_tensor(batch_size))
    outer = tensor_shape.TensorShape([None if batch is None else int(batch), width])
    expected = outer.concatenate(_static(inner))
    if not result.shape.is_compatible_with(expected):
        raise ValueError(
            "Unexpected behavior when reshaping between beam width and batch size.  The reshaped "
            f"tensor has shape: {result.shape}.  We expected it to have shape (batch_size, "
            f"beam_width, depth) == {expected}.  Perhaps you forgot to create a zero_state with "
            "batch_size=encoder_batch_size * beam_width?"
        )
    result.set_shape(expected)
    return result


def merge(value: Any, batch_size: Any, width: int, inner: Any) -> Any:
    """Return a tensor of the shape [batch, beam, ...] with the shape [batch * beam, ...]."""
    sizes = raw.ConcatV2([raw.Pack([batch_size * width]), raw.Shape(value)[2:]], 0)
    result = raw.Reshape(value, sizes)
    batch = convert.constant_value(convert.convert_to_tensor(batch_size))
    outer = tensor_shape.TensorShape([None if batch is None else int(batch) * width])
    result.set_shape(outer.concatenate(_static(inner)))
    return result


def _static(inner: Any) -> tensor_shape.TensorShape:
    if hasattr(inner, "op"):
        size = convert.constant_value(inner)
        inner = [None] if size is None else size.reshape(-1).tolist()
    return tensor_shape.as_shape([inner] if isinstance(inner, int) else inner)


def pick(values: Any, ids: Any) -> Any:
    """Return the entries of each example with the ids: shapes [batch, n, ...] and [batch, m]."""
    sizes = array_ops.shape(values)
    flat = raw.Reshape(values, raw.ConcatV2([raw.Pack([sizes[0] * sizes[1]]), sizes[2:]], 0))
    starts = raw.ExpandDims(math_ops.range(sizes[0]) * sizes[1], 1)
    result = raw.GatherV2(flat, ids + starts, 0)
    result.set_shape(ids.shape.concatenate(values.shape[2:]))
    return result
