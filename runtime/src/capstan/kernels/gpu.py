"""Registers the kernels of GPUs.

The ops of `gpu_table` have one kernel for both device types. The kernel calls NumPy's functions,
which call the functions of the array type of their arguments. This needs no GPU and no CuPy: every
task can tell a placer which nodes a GPU would run.
"""

from dataclasses import replace

from capstan.kernels import gpu_repeats, gpu_table
from capstan.kernels.registry import Kernel, register, rows


def register_all() -> None:
    """Register a kernel of GPUs for each op of `gpu_table`, made of the kernels of CPUs.

    All families must have registered their kernels of CPUs before.
    """
    for types, ops in gpu_table.TABLE:
        for op in ops.split():
            for row in rows(op, "CPU"):
                shared = {
                    name: allowed & row.types.get(name, allowed) for name, allowed in types.items()
                }
                if all(shared.values()):
                    register(_on_gpu(row, {**row.types, **shared}))


def _on_gpu(row: Kernel, types: gpu_table.Types) -> Kernel:
    return replace(
        row,
        device="GPU",
        types=types,
        repeats=row.make is not None and row.op not in gpu_repeats.UNREPEATABLE,
        repeats_with=gpu_repeats.types(row.op),
        join=None,
    )
