"""Kernels of the datasets that share seeds or elements through a resource."""

from collections.abc import Callable
from typing import Any

from capstan.core import resource_name
from capstan.kernels import datasets, rejection, resources
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import (
    dataset_choice,
    dataset_seeds,
    dataset_shuffle,
    resource,
    variant,
)


def _shuffle(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)
    reshuffles, names = bool(node.attrs.get("reshuffle_each_iteration", True)), ["seed", "seed2"]

    def shuffle(source: Any, size: Any, *others: Any) -> Any:
        *numbers, handle = others
        seeds = tuple(map(rejection.number, numbers[:2], names)) or (0, 0)
        times = rejection.number(numbers[2], "count") if len(numbers) > 2 else 1
        (first, second), again = _shared(handle, seeds, reshuffles)
        made = dataset_shuffle.Shuffle(
            spec,
            datasets.dataset_in(source),
            datasets.shuffle_buffer(size),
            (first, second),
            again,
            times,
        )
        return variant.scalar(made)

    return shuffle


def _shared(handle: Any, seeds: Any, repeats: bool) -> tuple[Any, bool]:
    """Return the seeds behind a handle, and whether they change. A dummy has none of its own."""
    found = resources.behind(handle)
    if isinstance(found, dataset_seeds.Seeds):
        return found.seeds, found.reshuffles
    return seeds, repeats


def _random(node: NodeContext) -> Function:
    spec, changes = datasets.spec_of(node), bool(node.attrs["rerandomize_each_iteration"])

    def random(seed: Any, seed2: Any, handle: Any) -> Any:
        given = rejection.number(seed, "seed"), rejection.number(seed2, "seed2")
        seeds, again = _shared(handle, given, changes)
        return variant.scalar(dataset_choice.Random(spec, seeds, again))

    return random


def _cache(node: NodeContext) -> Function:
    cache = datasets.plain(datasets.cache)(node)
    return lambda source, filename, _: cache(source, filename)


def _name(node: NodeContext) -> resource_name.ResourceName:
    return resource_name.of_node(node.name, {}, node.resources.default_container)


def _dummy(node: NodeContext) -> Function:
    dummy = resource.Resource(_name(node))
    return lambda: dummy


def _anonymous_cache(node: NodeContext) -> Function:
    name = _name(node)
    return lambda: (resource.Resource(name), variant.scalar(dataset_seeds.Deleter()))


def _anonymous_seeds(node: NodeContext) -> Function:
    name = _name(node)

    def make(seed: Any, seed2: Any, reshuffles: Any = True) -> Any:
        seeds = rejection.number(seed, "seed"), rejection.number(seed2, "seed2")
        found = dataset_seeds.Seeds(name, seeds, reshuffles=bool(reshuffles))
        return found, variant.scalar(dataset_seeds.Deleter())

    return make


_KERNELS: dict[str, Callable[[NodeContext], Function]] = {
    "ShuffleDatasetV2": _shuffle,
    "ShuffleDatasetV3": _shuffle,
    "ShuffleAndRepeatDatasetV2": _shuffle,
    "RandomDatasetV2": _random,
    "CacheDatasetV2": _cache,
    "DummySeedGenerator": _dummy,
    "DummyMemoryCache": _dummy,
    "AnonymousMemoryCache": _anonymous_cache,
    "AnonymousRandomSeedGenerator": _anonymous_seeds,
    "AnonymousSeedGenerator": _anonymous_seeds,
}
for _op, _make in _KERNELS.items():
    register(Kernel(_op, _make))
