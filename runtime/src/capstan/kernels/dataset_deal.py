"""Kernel of the op that gives the elements of one dataset to several iterators in turn."""

from typing import Any

from capstan.kernels import datasets
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import dataset_deal, variant


def _dealt(node: NodeContext) -> Function:
    spec, count = datasets.spec_of(node), int(node.attrs["num_devices"])
    most = int(node.attrs["buffer_size"])

    def dealt(source: Any) -> Any:
        deal = dataset_deal.Deal(datasets.dataset_in(source), count, most)
        return tuple(
            variant.scalar(dataset_deal.Dealt(spec, deal, number)) for number in range(count)
        )

    return dealt


register(Kernel("_DealDataset", _dealt))
