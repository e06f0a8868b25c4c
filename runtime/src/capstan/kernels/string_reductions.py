"""Kernels that join strings along axes, and hash strings.

Sources: core/kernels/{reduce_join,string_to_hash_bucket,unsorted_segment_join}_op.cc.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import arrays, attr_value, farmhash, fingerprint, packed_strings, siphash
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings
from capstan.hardware import cpu_loops
from capstan.kernels import hash_loops, stacking
from capstan.kernels.registry import Columns, Function, Join, Joined, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number

_MANY: Final = 512
"""More strings are hashed as vectors in less time than it takes to look them up."""
_MOST_KNOWN, _LONGEST_KNOWN = 4096, 64
"""The number and the length of the strings whose buckets a node remembers: the first ones."""


def _reduce_join(node: NodeContext) -> Function:
    separator = attr_value.text(node.attrs["separator"]).encode(errors="surrogateescape")
    keeps = bool(node.attrs["keep_dims"])

    def join(inputs: Array, reduction_indices: Array) -> Array:
        strings = np.asarray(inputs, object)
        axes = _axes(np.asarray(reduction_indices).ravel().tolist(), strings.ndim)
        kept = [axis for axis in range(strings.ndim) if axis not in axes]
        # The first of the axes varies fastest: the strings are joined along this axis first.
        ordered = strings.transpose([*kept, *reversed(axes)])
        count = int(np.prod([strings.shape[axis] for axis in axes], dtype=int))
        sizes = [strings.shape[axis] for axis in kept]
        rows = ordered.reshape(int(np.prod(sizes, dtype=int)), count)
        if keeps:
            sizes = [1 if axis in axes else size for axis, size in enumerate(strings.shape)]
        return arrays.strings([separator.join(row) for row in rows.tolist()], tuple(sizes))

    return join


def _unsorted_segment_join(node: NodeContext) -> Function:
    separator = attr_value.text(node.attrs["separator"]).encode(errors="surrogateescape")

    def join(inputs: Array, segment_ids: Array, num_segments: Array) -> Array:
        strings, count = np.asarray(inputs, object), number(num_segments, "num_segments")
        _check_segments(strings, segment_ids, count)
        rest = strings.shape[segment_ids.ndim :]
        rows = strings.reshape(segment_ids.size, int(np.prod(rest, dtype=int)))
        parts: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
        for segment, row in zip(segment_ids.ravel().tolist(), rows.tolist(), strict=True):
            for joined, text in zip(parts[segment], row, strict=True):
                joined.append(text)
        texts = (separator.join(joined) for segment in parts for joined in segment)
        return arrays.strings(texts, (count, *rest))

    return join


def _check_segments(strings: Array, ids: Array, count: int) -> None:
    """Require one id below `count` for each row of strings.

    Raises:
        InvalidArgumentError: there is no such id.
    """
    if not ids.ndim:
        raise invalid("Segment_id cannot have rank 0")
    if count < 0:
        raise invalid(f"Number of segments must be non-negative but got {count}")
    if ids.ndim > strings.ndim:
        raise invalid(f"segment_ids has rank {ids.ndim}, but the input has rank {strings.ndim}")
    for axis, (size, wanted) in enumerate(zip(ids.shape, strings.shape, strict=False)):
        if size != wanted:
            raise invalid(
                f"Segment dimension is {size} while input dimension is {wanted} in rank {axis}"
            )
    if ids.size and not 0 <= ids.min() <= ids.max() < count:
        raise invalid(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )


def _axes(given: list[int], rank: int) -> list[int]:
    axes = []
    for axis in given:
        if not -rank <= axis < rank:
            raise errors.OutOfRangeError(
                None, None, f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            )
        if axis % rank in axes:
            raise invalid(f"Duplicate reduction dimension {axis % rank}")
        axes.append(axis % rank)
    return axes


def _murmur(node: NodeContext) -> Function:
    count = np.uint64(node.attrs["num_buckets"])

    def buckets(strings: Any) -> Array:
        if isinstance(strings, PackedStrings):
            return (fingerprint.murmur64_of_packed(strings) % count).astype(np.int64)
        array = np.asarray(strings, object)
        hashes = fingerprint.murmur64_of_each(array.ravel().tolist())
        return (hashes % count).astype(np.int64).reshape(array.shape)

    return buckets


def _fast(node: NodeContext) -> Function:
    count = np.uint64(node.attrs["num_buckets"])
    # The words of a feature come back in the next batches.
    known: dict[bytes, int] = {}

    def remember(texts: Sequence[bytes], buckets: Sequence[int]) -> None:
        room = max(_MOST_KNOWN - len(known), 0)
        pairs = zip(texts[:room], buckets, strict=False)
        known.update(pair for pair in pairs if len(pair[0]) <= _LONGEST_KNOWN)

    def buckets(strings: Any) -> Array:
        if isinstance(strings, PackedStrings):
            return (farmhash.farm64_of_packed(strings) % count).astype(np.int64)
        array = np.asarray(strings, object)
        texts = array.ravel().tolist()
        if len(texts) > _MANY:
            return (farmhash.farm64_of_each(texts) % count).astype(np.int64).reshape(array.shape)
        found = [known.get(text) for text in texts]
        new = [text for text, bucket in zip(texts, found, strict=True) if bucket is None]
        if new:
            added = (farmhash.farm64_of_each(new) % count).tolist()
            rest = iter(added)
            found = [next(rest) if bucket is None else bucket for bucket in found]
            remember(new, added)
        return np.array(found, np.int64).reshape(array.shape)

    return buckets


def _fast_of_several(nodes: Sequence[NodeContext]) -> Joined:
    counts = np.array([node.attrs["num_buckets"] for node in nodes], np.uint64)
    is_same = bool((counts == counts[0]).all())
    loop = cpu_loops.Loop(hash_loops.hash_strings)

    def buckets(vectors: Sequence[Any]) -> Columns:
        shapes: list[tuple[int, ...]] = []
        if all(isinstance(strings, PackedStrings) for strings in vectors):
            blocks = stacking.Blocks.of(vectors)
            hashes = _hashes(loop, packed_strings.join(vectors))
        else:
            shapes = [strings.shape for strings in vectors]
            blocks = stacking.Blocks([math.prod(shape) for shape in shapes])
            arrays = map(packed_strings.unpacked, vectors)
            texts = itertools.chain.from_iterable(array.ravel().tolist() for array in arrays)
            hashes = farmhash.farm64_of_each(list(texts))
        if is_same:
            # NumPy divides by one number three times as fast as by many.
            found = hashes - hashes // counts[0] * counts[0]
        else:
            found = hashes % counts.repeat(blocks.sizes)
        column = stacking.Column(blocks, found.astype(np.int64))
        if all(len(shape) == 1 for shape in shapes):
            return (column,)
        return ([part.reshape(shape) for part, shape in zip(column, shapes, strict=True)],)

    return buckets


def _hashes(loop: cpu_loops.Loop, strings: PackedStrings) -> Array:
    """Return farmhash's fingerprints. `loop` is `hash_loops.hash_strings`."""
    run = loop.after(len(strings))
    if run is None:
        return farmhash.farm64_of_packed(strings)
    hashes = np.empty(len(strings), np.uint64)
    data = np.frombuffer(strings.data, np.uint8)
    if run(data, strings.starts, strings.sizes, hashes):
        for number in (strings.sizes > hash_loops.LONGEST).nonzero()[0].tolist():
            hashes[number] = farmhash.farm64(strings.text(number))
    return hashes


def _strong(node: NodeContext) -> Function:
    keys = [int(key) for key in node.attrs["key"]]
    if len(keys) != 2:
        raise invalid("Key must have 2 elements")
    count = np.uint64(node.attrs["num_buckets"])

    def buckets(strings: Any) -> Array:
        if isinstance(strings, PackedStrings):
            return (siphash.siphash64_of_packed(strings, keys) % count).astype(np.int64)
        array = np.asarray(strings, object)
        hashes = siphash.siphash64_of_each(array.ravel().tolist(), keys)
        return (hashes % count).astype(np.int64).reshape(array.shape)

    return buckets


register(Kernel("ReduceJoin", _reduce_join))
register(Kernel("UnsortedSegmentJoin", _unsorted_segment_join))
register(Kernel("StringToHashBucket", _murmur, takes_packed=(0,)))
register(
    Kernel(
        "StringToHashBucketFast",
        _fast,
        join=Join(_fast_of_several, free=("num_buckets",)),
        takes_packed=(0,),
    )
)
register(Kernel("StringToHashBucketStrong", _strong, takes_packed=(0,)))
