"""`InputSpec`: the inputs that a layer takes, and the check of them."""

import operator
from typing import Any


class InputSpec:
    """The shape, rank and dtype that the inputs of a layer must have. None allows anything."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = axes or {}


def check(name: str, spec: Any, shape: Any) -> None:
    rank = shape.ndims
    start = f"Input 0 of layer {name} is incompatible with the layer: "
    for name_of_bound, compare in (
        ("ndim", operator.ne),
        ("max_ndim", operator.gt),
        ("min_ndim", operator.lt),
    ):
        bound = getattr(spec, name_of_bound)
        if bound is not None and rank is None:
            raise ValueError(
                f"{start}its rank is undefined, but the layer requires a defined rank."
            )
        if bound is not None and compare(rank, bound):
            raise ValueError(
                f"{start}expected {name_of_bound}={bound}, found ndim={rank}. Full shape received: "
                f"{shape}"
            )
    for axis, size in spec.axes.items():
        found = None if rank is None else shape.as_list()[axis]
        if size is not None and found not in (size, None):
            raise ValueError(
                f"{start}expected axis {axis} of input shape to have value {size} but received "
                f"input with shape {shape}"
            )
