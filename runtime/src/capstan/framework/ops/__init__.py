"""The rows of all ops, one file per family. Importing this package fills the registry."""

from capstan.framework.ops import (
    arithmetic,
    constant,
    control,
    creation,
    indexing,
    io,
    layout,
    logic,
    nn,
    reduction,
    sampling,
    shape,
    slicing,
    state,
    training,
    unary,
)

__all__ = [
    "arithmetic",
    "constant",
    "control",
    "creation",
    "indexing",
    "io",
    "layout",
    "logic",
    "nn",
    "reduction",
    "sampling",
    "shape",
    "slicing",
    "state",
    "training",
    "unary",
]
