"""`tf.contrib.all_reduce`: tensors of several devices are reduced by operations on each device.

Each function takes one tensor from each device, all of one type and one static shape, and returns
the reduced value once on each of these devices. `red_op` combines two tensors, or a list of them
where a function says so, element by element. `un_op` is applied to the reduced values.

Source: python/distribute/all_reduce.py.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.api import array_ops, context, creation_ops, math_ops
from capstan.contrib import nccl_ops
from capstan.core import tensor_shape

__all__ = [
    "build_nccl_all_reduce",
    "build_recursive_hd_all_reduce",
    "build_ring_all_reduce",
    "build_shuffle_all_reduce",
]

Unary = Callable[[Any], Any]


class Flat(NamedTuple):
    """Tensors as vectors, each on its device, and their shape."""

    vectors: list[Any]
    shape: tensor_shape.TensorShape

    @property
    def devices(self) -> list[str]:
        return [vector.device for vector in self.vectors]

    def restored(self, vectors: Sequence[Any]) -> list[Any]:
        """Return vectors in the shape of the tensors."""
        if self.shape.ndims == 1:
            return list(vectors)
        return _on_each(lambda vector: array_ops.reshape(vector, self.shape), vectors)


def flat_of(tensors: Sequence[Any]) -> Flat:
    """Return the tensors as vectors.

    Raises:
        ValueError: there is no tensor, or their shapes differ or are not known.
    """
    if not tensors:
        raise ValueError("tensors cannot be empty: pass one tensor of each device")
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        shape = shape.merge_with(tensor.shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"Tensors must have statically known shape, but {tensors[0].name} has shape {shape}: "
            "call `set_shape` before"
        )
    if shape.ndims == 1:
        return Flat(list(tensors), shape)
    return Flat(_on_each(lambda tensor: array_ops.reshape(tensor, [-1]), tensors), shape)


def _on_each(function: Unary, tensors: Sequence[Any]) -> list[Any]:
    """Apply a function to each tensor, on the device of the tensor."""
    results = []
    for tensor in tensors:
        with context.colocate_with(tensor):
            results.append(function(tensor))
    return results


def finished(un_op: Unary | None, tensors: Sequence[Any]) -> list[Any]:
    return list(tensors) if un_op is None else _on_each(un_op, tensors)


def build_ring_all_reduce(
    input_tensors: Sequence[Any],
    num_workers: int,
    num_subchunks: int,
    gpu_perm: Sequence[int],
    red_op: Callable[[Any, Any], Any],
    un_op: Unary | None = None,
) -> list[Any]:
    """Reduce chunks that travel twice around a ring of the devices.

    `gpu_perm` is the order of the GPUs of each of `num_workers` workers in the ring. A chunk has
    `num_subchunks` parts, which travel around different rings.

    Raises:
        ValueError: there are fewer than two tensors, `num_subchunks` exceeds the number of GPUs of
            a worker, or the shapes differ or are not known.
    """
    if len(input_tensors) < 2:
        raise ValueError(
            f"input_tensors must be length 2 or longer, not {len(input_tensors)}: a ring has at "
            "least two devices"
        )
    flat = flat_of(input_tensors)
    count = len(flat.vectors)
    rings = _rings(num_workers, num_subchunks, gpu_perm)
    parts = _on_each(lambda vector: _padded_split(vector, count * num_subchunks), flat.vectors)
    reduced: list[list[Any]] = [[None] * (count * num_subchunks) for _ in flat.vectors]
    for subchunk, ring in enumerate(rings):
        for chunk in range(count):
            place = chunk * num_subchunks + subchunk
            route = [ring[(chunk + hop) % count] for hop in range(1, count + 1)]
            own = [parts[device][place] for device in route]
            for device, value in zip(
                [route[-1], *route[:-1]],
                _around([flat.devices[device] for device in route], own, red_op, un_op),
                strict=True,
            ):
                reduced[device][place] = value
    size = flat.vectors[0].shape.num_elements()
    joined = []
    for vector, row in zip(flat.vectors, reduced, strict=True):
        with context.colocate_with(vector):
            whole = array_ops.concat(row, 0)
            joined.append(whole if size % len(row) == 0 else whole[:size])
    return flat.restored(joined)


def _rings(num_workers: int, num_subchunks: int, gpu_perm: Sequence[int]) -> list[list[int]]:
    """Return the order of the devices in the ring of each subchunk.

    >>> _rings(2, 2, [0, 1])
    [[0, 1, 2, 3], [1, 0, 3, 2]]
    """
    gpus = len(gpu_perm)
    if num_subchunks > gpus:
        raise ValueError(f"num_subchunks {num_subchunks} must be <= num_gpus {gpus}")
    rotation = max(1, gpus // num_subchunks)
    rings = []
    for subchunk in range(num_subchunks):
        first = subchunk * rotation
        order = [*gpu_perm[first:], *gpu_perm[:first]]
        rings.append([worker * gpus + gpu for worker in range(num_workers) for gpu in order])
    return rings


def _padded_split(vector: Any, count: int) -> list[Any]:
    """Return parts of one size. The last ones end with zeros if the size does not divide."""
    padding = -vector.shape.num_elements() % count
    if padding:
        vector = array_ops.concat([vector, creation_ops.zeros([padding], vector.dtype)], 0)
    return list(array_ops.split(vector, count))


def _around(
    route: Sequence[str],
    own: Sequence[Any],
    red_op: Callable[[Any, Any], Any],
    un_op: Unary | None,
) -> list[Any]:
    """Reduce the values of a ring of devices, from the first to the last.

    Return the reduced value on the last device, and then on each of the others along the ring.
    """
    value = own[0]
    for device, mine in zip(route[1:], own[1:], strict=True):
        with context.device(device):
            value = red_op(value, mine)
    if un_op is not None:
        with context.device(route[-1]):
            value = un_op(value)
    results = [value]
    for device in route[:-1]:
        with context.device(device):
            results.append(array_ops.identity(results[-1]))
    return results


def build_recursive_hd_all_reduce(
    input_tensors: Sequence[Any], red_op: Callable[[Any, Any], Any], un_op: Unary | None = None
) -> list[Any]:
    """Reduce by halves: pairs of devices exchange halves, then halves of halves, and so on.

    Source: R. Thakur et al., Optimization of Collective Communication Operations in MPICH.

    Raises:
        ValueError: the number of tensors is not a power of two, their size is not a multiple of
            this number, or the shapes differ or are not known.
    """
    flat = flat_of(input_tensors)
    count = len(flat.vectors)
    if count & (count - 1):
        raise ValueError(
            f"num_devices must be a power of 2, not {count}: build_ring_all_reduce takes any number"
        )
    spans = [1 << hop for hop in range(count.bit_length() - 1)]
    shards = list(flat.vectors)
    for span in spans:
        for left, right in _pairs(count, span):
            halves = zip(
                *(array_ops.split(shards[place], 2) for place in (left, right)), strict=True
            )
            for place, (one, other) in zip((left, right), halves, strict=True):
                with context.device(flat.devices[place]):
                    shards[place] = red_op(one, other)
    if un_op is not None:
        shards = _on_each(un_op, shards)
    for span in reversed(spans):
        for left, right in _pairs(count, span):
            both = [shards[left], shards[right]]
            for place in (left, right):
                with context.device(flat.devices[place]):
                    shards[place] = array_ops.concat(both, 0)
    return flat.restored(shards)


def _pairs(count: int, span: int) -> list[tuple[int, int]]:
    """Return the pairs of devices with this distance.

    >>> _pairs(4, 2)
    [(0, 2), (1, 3)]
    """
    return [(each, each + span) for each in range(count) if not each & span]


def build_shuffle_all_reduce(
    input_tensors: Sequence[Any],
    gather_devices: Sequence[str],
    red_op: Callable[[list[Any]], Any],
    un_op: Unary | None = None,
) -> list[Any]:
    """Reduce one shard on each of the `gather_devices`, as parameter servers do.

    `red_op` takes a list.

    Raises:
        ValueError: the shapes differ or are not known.
    """
    flat = flat_of(input_tensors)
    shards = gathered(flat.vectors, gather_devices, red_op, un_op)
    return flat.restored(joined_on(flat.devices, shards))


def gathered(
    vectors: Sequence[Any],
    gather_devices: Sequence[str],
    red_op: Callable[[list[Any]], Any],
    un_op: Unary | None = None,
) -> list[Any]:
    """Return the reduced shards of vectors, each on its device."""
    count = len(gather_devices)
    size = vectors[0].shape.num_elements()
    part, rest = divmod(size, count)
    sizes = count if not rest else [*[part] * (count - 1), part + rest]
    rows = _on_each(lambda vector: array_ops.split(vector, sizes), vectors)
    shards = []
    for device, values in zip(gather_devices, zip(*rows, strict=True), strict=True):
        with context.device(device):
            shard = red_op(list(values))
            shards.append(shard if un_op is None else un_op(shard))
    return shards


def joined_on(devices: Sequence[str], shards: Sequence[Any]) -> list[Any]:
    """Return the joined shards once on each device."""
    results = []
    for device in devices:
        with context.device(device):
            results.append(array_ops.concat(list(shards), 0))
    return results


def build_nccl_all_reduce(
    input_tensors: Sequence[Any], red_op: Callable[..., Any], un_op: Unary | None = None
) -> list[Any]:
    """Add the tensors of the GPUs of one task with NCCL.

    Raises:
        ValueError: `red_op` is not `tf.add`.
    """
    if inspect.unwrap(red_op) is not math_ops.add:
        raise ValueError(f"red_op not supported by NCCL all-reduce: {red_op}: pass `tf.add`")
    return finished(un_op, nccl_ops.all_sum(input_tensors))
