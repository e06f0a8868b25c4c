"""The kernel that fills a lookup table with the elements of a dataset (lookup_ops.cc)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.kernels import datasets, iterators, lookup
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset_run


def _initialize_table(_: NodeContext) -> Function:
    def initialize(handle: Any, tensor: Any, *, done: Any, cancellation: Any) -> None:
        table, plan, run = lookup.behind(handle), datasets.dataset_in(tensor), dataset_run.Run()
        wanted = table.key_dtype, table.value_dtype

        def compute() -> Sequence[Any]:
            if plan.spec.types != wanted:
                raise invalid(
                    f"The dataset of a table must have elements of the types {wanted}, but has "
                    f"{plan.spec.types}"
                )
            keys: list[Any] = []
            values: list[Any] = [np.empty(0, table.value_dtype.as_numpy_dtype)]
            for key, value in plan.start(run):
                run.check()
                keys += np.asarray(key).reshape(-1).tolist()
                values.append(np.asarray(value).reshape(-1))
            table.initialize(keys, np.concatenate(values))
            return ()

        iterators.in_thread(run, compute, done, cancellation)

    return initialize


register(Kernel("InitializeTableFromDataset", start=_initialize_table))
