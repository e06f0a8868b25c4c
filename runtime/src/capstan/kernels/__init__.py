"""Kernels, one file per op family; importing the package fills the table of `kernels.registry`."""

from capstan.kernels import (
    arithmetic,
    control,
    creation,
    indexing,
    io,
    layout,
    logic,
    nn,
    reduction,
    resource,
    sampling,
    shape,
    slicing,
    state,
    training,
    unary,
)

__all__ = [
    "arithmetic",
    "control",
    "creation",
    "indexing",
    "io",
    "layout",
    "logic",
    "nn",
    "reduction",
    "resource",
    "sampling",
    "shape",
    "slicing",
    "state",
    "training",
    "unary",
]
