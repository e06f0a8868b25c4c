"""The rules by which ops that decode records and look rows up compute all iterations at once."""

from typing import Any

from capstan.core import dtypes
from capstan.framework.ops import stacked
from capstan.framework.ops.stacked import Loop, Operand, Operands, define


def _only_second(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """Input 1 may have more leading axes. The others are a handle and parameters."""
    if any(operand.is_stacked for place, operand in enumerate(operands) if place != 1):
        return None
    return stacked.stacked(loop.again(op, [operand.tensor for operand in operands]))


def _raw_values(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """The strings of the iterations may differ in their lengths. Then the operation fails."""
    return stacked.only_first(loop, op, operands) if loop.retries else None


def _find(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """A dense table takes its keys along one axis only."""
    is_dense = operands[0].tensor.op.type.startswith("MutableDenseHashTable")
    is_found = not is_dense or op.inputs[1].shape.ndims == 0
    return _only_second(loop, op, operands) if is_found else None


def _gather(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    return None if op.get_attr("batch_dims") else _only_second(loop, op, operands)


def _example(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """The examples become one batch. Sparse features would need another order of their indices."""
    serialized, *defaults = operands
    shapes = op.get_attr("dense_shapes")
    is_dense = not op.get_attr("num_sparse") and all(shape.is_fully_defined() for shape in shapes)
    if not is_dense or any(operand.is_stacked for operand in defaults):
        return None
    none = loop.raw.Const(value=[], dtype=dtypes.string)
    keys = op.get_attr("dense_keys")
    outputs = loop.raw.ParseExample(
        serialized.tensor,
        none,
        [],
        keys,
        [default.tensor for default in defaults],
        Nsparse=0,
        Ndense=len(keys),
        sparse_types=[],
        Tdense=op.get_attr("Tdense"),
        dense_shapes=shapes,
    )
    return stacked.stacked(outputs.dense_values)


def _joined(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """`StringJoin`: each tensor is a scalar, or has the shape of the others."""
    ranks = [tensor.shape.ndims for tensor in op.inputs]
    if None in ranks or len({rank for rank in ranks if rank}) > 1:
        return None
    tensors = []
    for operand, rank in zip(operands, ranks, strict=True):
        if rank != max(ranks) and operand.is_stacked:
            return None
        tensors.append(operand.tensor if rank == 0 else stacked.on_top(loop, operand))
    return stacked.stacked(loop.again(op, tensors))


def _part(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """`Substr`: the places are scalars, or have the shape of the strings."""
    has_scalars = all(tensor.shape.ndims == 0 for tensor in op.inputs[1:])
    return stacked.only_first(loop, op, operands) if has_scalars else None


for _names, _rule in (
    (("DecodeCSV", "DecodePaddedRaw"), stacked.only_first),
    (("DecodeRaw",), _raw_values),
    (("RegexReplace", "RegexFullMatch"), stacked.only_first),
    (("StringJoin",), _joined),
    (("Substr",), _part),
    (("LookupTableFind", "LookupTableFindV2"), _find),
    (("ResourceGather",), _gather),
    (("ParseSingleExample",), _example),
):
    define(_rule, *_names)
