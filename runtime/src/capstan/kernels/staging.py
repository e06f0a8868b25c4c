"""Kernels of staging areas. Every node names its area by an attribute. There are no handles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import number
from capstan.kernels.stack import keeper
from capstan.resources import staging, staging_map


def _area(node: NodeContext) -> staging.StagingArea:
    capacity, memory = int(node.attrs["capacity"]), int(node.attrs["memory_limit"])
    return resources.named(
        node,
        "staging area",
        lambda name: staging.StagingArea(name, capacity, memory, keeper(node)),
        may_be_private=False,
    )


def _map(node: NodeContext) -> staging_map.StagingMap:
    is_ordered = node.op.startswith("Ordered")
    capacity, memory = int(node.attrs["capacity"]), int(node.attrs["memory_limit"])
    return resources.named(
        node,
        "ordered staging map" if is_ordered else staging_map.KIND,
        lambda name: staging_map.StagingMap(
            name,
            node.attrs["dtypes"],
            capacity,
            memory,
            is_ordered=is_ordered,
            owned=keeper(node),
        ),
        may_be_private=False,
    )


def _stage(node: NodeContext) -> Function:
    area = _area(node)

    def stage(*values: Any, done: Any, cancellation: Any) -> None:
        area.put(values, done, cancellation)

    return stage


def _unstage(node: NodeContext) -> Function:
    area, count = _area(node), len(node.output_dtypes)

    def unstage(*, done: Any, cancellation: Any) -> None:
        area.get(count, done, cancellation)

    return unstage


def _peek(node: NodeContext) -> Function:
    area, count = _area(node), len(node.output_dtypes)

    def peek(index: Array, *, done: Any, cancellation: Any) -> None:
        area.peek(number(index, "index"), count, done, cancellation)

    return peek


def _map_stage(node: NodeContext) -> Function:
    area = _map(node)

    def stage(key: Array, indices: Array, *values: Any, done: Any, cancellation: Any) -> None:
        area.put(number(key, "key"), indices, values, done, cancellation)

    return stage


def _map_get(method: Callable[..., None]) -> Callable[[NodeContext], Function]:
    def start(node: NodeContext) -> Function:
        area = _map(node)

        def get(key: Array, indices: Array, *, done: Any, cancellation: Any) -> None:
            method(area, number(key, "key"), indices, done, cancellation)

        return get

    return start


def _map_get_any(node: NodeContext) -> Function:
    area = _map(node)

    def get(indices: Array, *, done: Any, cancellation: Any) -> None:
        area.get(None, indices, done, cancellation)

    return get


def _reading(
    find: Callable[[NodeContext], Any], read: Callable[[Any], Any]
) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        area = find(node)
        return lambda: read(area)

    return make


def _size(area: staging.StagingArea | staging_map.StagingMap) -> Any:
    return np.int32(len(area))


def _incomplete_size(area: staging_map.StagingMap) -> Any:
    return np.int32(area.incomplete_size())


def _clear(area: staging.StagingArea | staging_map.StagingMap) -> None:
    area.clear()


register(Kernel("Stage", start=_stage))
register(Kernel("Unstage", start=_unstage))
register(Kernel("StagePeek", start=_peek))
register(Kernel("StageSize", _reading(_area, _size)))
register(Kernel("StageClear", _reading(_area, _clear)))
for _prefix in ("", "Ordered"):
    register(Kernel(f"{_prefix}MapStage", start=_map_stage))
    register(Kernel(f"{_prefix}MapPeek", start=_map_get(staging_map.StagingMap.peek)))
    register(Kernel(f"{_prefix}MapUnstage", start=_map_get(staging_map.StagingMap.get)))
    register(Kernel(f"{_prefix}MapUnstageNoKey", start=_map_get_any))
    register(Kernel(f"{_prefix}MapSize", _reading(_map, _size)))
    register(Kernel(f"{_prefix}MapIncompleteSize", _reading(_map, _incomplete_size)))
    register(Kernel(f"{_prefix}MapClear", _reading(_map, _clear)))
