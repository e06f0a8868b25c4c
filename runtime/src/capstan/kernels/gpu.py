"""Registers the kernels of GPUs.

The ops of `gpu_table` have one kernel for both device types. The kernel calls NumPy's functions,
which call the functions of the array type of their arguments. This needs no GPU and no CuPy: every
task can tell a placer which nodes a GPU would run.
"""

from dataclasses import replace

from capstan.kernels import (
    activations,
    arithmetic,
    arrangement,
    arrays,
    batch_matmul,
    bessel,
    bitwise,
    control,
    control_flow,
    convolution,
    creation,
    cross_entropy,
    depthwise,
    diagonals,
    feature_columns,
    gpu_repeats,
    gpu_table,
    image,
    image_colours,
    indexing,
    joining,
    layout,
    linear_algebra,
    logic,
    margins,
    morphology,
    multinomial,
    nd,
    nn,
    normalization,
    optional,
    pooling,
    reduction,
    resource,
    sampling,
    segments,
    session_tensors,
    shape,
    slicing,
    sparse,
    special,
    stack,
    staging,
    state,
    tensor_array,
    tensor_list,
    tensor_list_pieces,
    tensor_list_values,
    training,
    unary,
    volumes,
    zeta,
)
from capstan.kernels.registry import register, rows

_FAMILIES = (
    activations,
    arithmetic,
    arrangement,
    arrays,
    batch_matmul,
    bessel,
    bitwise,
    control,
    control_flow,
    convolution,
    creation,
    cross_entropy,
    depthwise,
    diagonals,
    feature_columns,
    image,
    image_colours,
    indexing,
    joining,
    layout,
    linear_algebra,
    logic,
    margins,
    morphology,
    multinomial,
    nd,
    nn,
    normalization,
    optional,
    pooling,
    reduction,
    resource,
    sampling,
    segments,
    session_tensors,
    shape,
    slicing,
    sparse,
    special,
    stack,
    staging,
    state,
    tensor_array,
    tensor_list,
    tensor_list_pieces,
    tensor_list_values,
    training,
    unary,
    volumes,
    zeta,
)
"""The families whose rows `gpu_table` names. They must be imported first."""

for _types, _ops in gpu_table.TABLE:
    for _op in _ops.split():
        for _row in rows(_op, "CPU"):
            _both = {**_row.types}
            for _name, _allowed in _types.items():
                _both[_name] = _allowed & _row.types.get(_name, _allowed)
            if all(_both.values()):
                _gpu = replace(
                    _row,
                    device="GPU",
                    types=_both,
                    repeats=_row.make is not None and _op not in gpu_repeats.UNREPEATABLE,
                    repeats_with=gpu_repeats.types(_op),
                )
                register(_gpu)
