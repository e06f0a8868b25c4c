"""`InputSpec`: the inputs that a layer takes, and the check of them."""

import operator
from typing import Any

from capstan.core import dtypes


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

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value}
        return f"InputSpec({', '.join(f'{name}={value}' for name, value in given.items())})"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal InputSpec."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "InputSpec":
        return cls(**config)


def check(name: str, spec: InputSpec, shape: Any, index: int = 0, dtype: Any = None) -> None:
    """Raise ValueError if the input `index` of the layer `name` does not fit `spec`."""
    rank = shape.ndims
    start = f"Input {index} of layer {name} is incompatible with the layer: "
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
                f"{shape.as_list()}"
            )
    if spec.dtype is not None and dtype is not None:
        wanted, found = dtypes.as_dtype(spec.dtype).name, dtype.base_dtype.name
        if wanted != found:
            raise ValueError(f"{start}expected dtype={wanted}, found dtype={found}")
    _check_sizes(start, spec, shape)


def _check_sizes(start: str, spec: InputSpec, shape: Any) -> None:
    sizes = shape.as_list() if shape.ndims is not None else None
    for axis, size in spec.axes.items():
        found = None if sizes is None else sizes[int(axis)]
        wanted = getattr(size, "value", size)
        if wanted is not None and found not in (wanted, None):
            raise ValueError(
                f"{start}expected axis {axis} of input shape to have value {wanted} but received "
                f"input with shape {sizes}"
            )
    if spec.shape is not None and sizes is not None:
        pairs = zip(spec.shape, sizes, strict=False)
        if any(wanted not in (found, None) and found is not None for wanted, found in pairs):
            raise ValueError(f"{start}expected shape={spec.shape}, found shape={sizes}")
