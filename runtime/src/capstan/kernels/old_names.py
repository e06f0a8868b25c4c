"""Kernels of ops that old graphs call by other names. They are those of the present names."""

import dataclasses

import numpy as np

from capstan.core.arrays import Array
from capstan.framework.ops import old_names
from capstan.kernels import arrays, diagonals, linear_algebra, registry, spectral  # noqa: F401 - kernels
from capstan.kernels.rejection import invalid

for _old, _present in old_names.PRESENT.items():
    for _kernel in registry.rows(_present, "CPU"):
        registry.register(dataclasses.replace(_kernel, op=_old))


def _check_numerics(node: registry.NodeContext) -> registry.Function:
    message = node.attrs["message"].decode("utf-8", "replace")

    def check(tensor: Array) -> Array:
        if not np.isfinite(tensor).all():
            found = [
                name
                for name, is_found in (
                    ("-Inf", np.isneginf(tensor).any()),
                    ("+Inf", np.isposinf(tensor).any()),
                    ("NaN", np.isnan(tensor).any()),
                )
                if is_found
            ]
            listed = " and ".join(filter(None, [", ".join(found[:-1]), found[-1]]))
            raise invalid(f"{message} : Tensor had {listed} values")
        return tensor

    return check


registry.register(registry.Kernel("CheckNumericsV2", _check_numerics, alias=True))
