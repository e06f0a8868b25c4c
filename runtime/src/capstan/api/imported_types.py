"""Checks of the attributes and the inputs of the nodes of an imported GraphDef.

The errors have the texts of TensorFlow (framework/node_def_util.cc, op_def_util.cc).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.core import attr_value, dtypes, node
from capstan.framework import graph as graphs
from capstan.framework import opdef
from capstan.graph import infer

_TYPE_NAMES = frozenset(dtype.name for dtype in dtypes.BASE_DTYPES)


def check_inputs(
    each: node.Node,
    full_name: str,
    inputs: Sequence[graphs.Tensor],
    expected: Sequence[tuple[dtypes.DType, bool]],
) -> None:
    """Check the inputs of a node. `expected` has their types, and whether each is a reference.

    Raises:
        ValueError: the number or the type of the inputs is wrong.
    """
    if len(expected) != len(inputs):
        kinds = ", ".join(dtypes.cpp_name(dtype) for dtype, _ in expected)
        raise ValueError(
            f"NodeDef expected inputs '{kinds}' do not match {len(inputs)} inputs specified; "
            f"Op<name={each.op}>; NodeDef: {{{{node {full_name}}}}}"
        )
    for place, (tensor, (dtype, is_ref)) in enumerate(zip(inputs, expected, strict=True)):
        if tensor.dtype.base_dtype is not dtype or (is_ref and not tensor.dtype.is_ref_dtype):
            wanted = dtypes.cpp_name(dtype.ref_dtype if is_ref else dtype)
            actual = dtypes.cpp_name(tensor.dtype)
            raise ValueError(
                f"Input {place} of node {full_name} was passed {actual} from "
                f"{tensor.name} incompatible with expected {wanted}."
            )


def inputs_of(each: node.Node, full_name: str) -> Any:
    """Return the type of each input of a node, and whether it is a reference.

    Raises:
        NotFoundError: Capstan does not have the op.
        ValueError: an attribute is missing or has a wrong value.
    """
    row = opdef.lookup(each.op)
    attrs = infer.attributes(each)
    needed = [*row.attrs, *_implied(row)]
    for name in needed:
        if name not in attrs:
            raise ValueError(
                f"NodeDef missing attr '{name}' from Op<name={each.op}>; NodeDef: "
                f"{{{{node {full_name}}}}}"
            )
    for name, allowed in row.types.items():
        value = attrs.get(name)
        for dtype in value if isinstance(value, list | tuple) else [value]:
            if dtype is not None and dtype not in allowed:
                kinds = ", ".join(map(dtypes.cpp_name, allowed))
                actual = dtypes.cpp_name(dtype)
                raise ValueError(
                    f"Value for attr '{name}' of {actual} is not in the list of allowed "
                    f"values: {kinds}\n\t; NodeDef: {{{{node {full_name}}}}}; Op<name={each.op}>"
                )
    if wrong := _wrong_value(row, attrs):
        raise ValueError(f"{wrong}\n\t; NodeDef: {{{{node {full_name}}}}}; Op<name={each.op}>")
    return opdef.expand(row.input_arguments, attrs)


def _wrong_value(row: opdef.OpDef, attrs: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the value of an attribute (framework/op_def_util.cc), or None."""
    counts = [argument.number for argument in (*row.input_arguments, *row.output_arguments)]
    least = {**{name: 1 for name in counts if name and name not in row.attrs}, **row.minima}
    for name, minimum in least.items():
        value = attrs[name]
        is_list = isinstance(value, list | tuple)
        size = len(value) if is_list else value
        if size < minimum:
            kind = "Length" if is_list else "Value"
            return f"{kind} for attr '{name}' of {size} must be at least minimum {minimum}"
    for name, choices in row.choices.items():
        if attrs[name] not in choices:
            allowed = ", ".join(f'"{attr_value.text(choice)}"' for choice in choices)
            return (
                f"Value for attr '{name}' of \"{attr_value.text(attrs[name])}\" is not in the list "
                f"of allowed values: {allowed}"
            )
    return None


def _implied(row: opdef.OpDef) -> list[str]:
    """Return the attributes that the arguments of an op name as their types and counts."""
    arguments = (*row.input_arguments, *row.output_arguments)
    found = [name for each in arguments for name in (each.type, each.number) if name is not None]
    return [name for name in dict.fromkeys(found) if name not in _TYPE_NAMES]
