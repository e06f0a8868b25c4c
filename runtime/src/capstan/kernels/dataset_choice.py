"""Kernels of the datasets that choose among elements."""

from typing import Any

from capstan.kernels import datasets, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import dataset_choice, variant
from capstan.resources.dataset import Dataset, Spec


def _directed(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)
    stops_at_empty = bool(node.attrs.get("stop_on_empty_dataset"))

    def directed(selector: Any, *sources: Any) -> Any:
        chosen = datasets.dataset_in(selector)
        found = tuple(map(datasets.dataset_in, sources))
        return variant.scalar(dataset_choice.Directed(spec, chosen, found, stops_at_empty))

    return directed


def _unique(spec: Spec, source: Any) -> Dataset:
    if len(spec.types) != 1:
        raise rejection.invalid("UniqueDataset only supports inputs with a single component.")
    return dataset_choice.Unique(spec, datasets.dataset_in(source))


def _random(spec: Spec, seed: Any, seed2: Any) -> Dataset:
    seeds = rejection.number(seed, "seed"), rejection.number(seed2, "seed2")
    return dataset_choice.Random(spec, seeds)


for _prefix in ("", "Experimental"):
    register(Kernel(f"{_prefix}DirectedInterleaveDataset", _directed))
    register(Kernel(f"{_prefix}UniqueDataset", datasets.plain(_unique)))
    register(Kernel(f"{_prefix}RandomDataset", datasets.plain(_random)))
