"""`slim.model_analyzer`: the sizes of variables and operations.

The printed lines follow contrib/slim/python/slim/model_analyzer.py.
"""

from collections.abc import Iterable
from typing import Any


def tensor_description(var: Any) -> str:
    """Return the dtype and the sizes of a tensor or variable.

    A matrix gives `(float32 2x3)`.
    """
    sizes = "x".join("?" if size is None else str(size) for size in var.shape.as_list())
    return f"({var.dtype.base_dtype.name} {sizes})"


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """Return the number of elements of all outputs with a known shape. Print each operation."""
    total = 0
    _headline("Operations: name -> (type shapes) [size]", print_info)
    for operation in graph.get_operations():
        known = [tensor for tensor in operation.outputs if tensor.shape.ndims is not None]
        size = sum(tensor.shape.num_elements() or 0 for tensor in known)
        total += size
        if print_info:
            shapes = ", ".join(tensor_description(tensor) for tensor in known if tensor.shape.ndims)
            print(operation.name, "\t->", shapes, f"[{size}]")
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Return the number of elements and of bytes of variables. Print each variable."""
    elements = total = 0
    _headline("Variables: name (type shape) [size]", print_info)
    for variable in variables:
        size = variable.shape.num_elements() or 0
        elements += size
        total += size * variable.dtype.base_dtype.size
        if print_info:
            own = size * variable.dtype.base_dtype.size
            print(variable.name, tensor_description(variable), f"[{size}, bytes: {own}]")
    if print_info:
        print(f"Total size of variables: {elements}")
        print(f"Total bytes of variables: {total}")
    return elements, total


def _headline(title: str, print_info: bool) -> None:
    if print_info:
        print("---------", title, "---------", sep="\n")
