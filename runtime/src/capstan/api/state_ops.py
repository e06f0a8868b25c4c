"""TensorFlow 1's functions that change variables (python/ops/state_ops.py).

Each function returns a tensor. Computing that tensor changes the variable and returns the new
value. For a resource variable, a function returns what the variable's method returns. `use_locking`
has no effect, because every change holds the variable's lock.
"""

from typing import Any

from capstan.framework import indexed_slices
from capstan.framework.raw import raw

__all__ = [
    "assign", "assign_add", "assign_sub", "is_variable_initialized", "scatter_add", "scatter_div",
    "scatter_max", "scatter_min", "scatter_mul", "scatter_sub", "scatter_update",
]  # fmt: skip


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Set a variable, or the slice `variable[...]` of one.

    If `validate_shape` is false, the variable may change its shape.
    """
    if _is_resource(ref) or _is_slice(ref):
        return ref.assign(value, name=name)
    return raw.Assign(ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    if _assigns_itself(ref):
        return ref.assign_add(value)
    return raw.AssignAdd(ref, value, use_locking=use_locking, name=name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    if _assigns_itself(ref):
        return ref.assign_sub(value)
    return raw.AssignSub(ref, value, use_locking=use_locking, name=name)


def is_variable_initialized(variable: Any, name: str | None = None) -> Any:
    """Return a boolean scalar, which is true in a step if the variable then has a value."""
    if _is_resource(variable):
        return variable.is_initialized(name=name)
    return raw.IsVariableInitialized(variable, name=name)


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Set rows of a variable. A row that is repeated gets one of its values."""
    if _is_resource(ref):
        return ref.scatter_update(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterUpdate(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Add to rows of a variable. The values of a repeated row are summed."""
    if _is_resource(ref):
        return ref.scatter_add(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterAdd(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtract from rows of a variable. The values of a repeated row are summed."""
    if _is_resource(ref):
        return ref.scatter_sub(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterSub(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_mul(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Multiply rows of a variable. A repeated row is multiplied by each of its values."""
    if _is_resource(ref):
        return ref.scatter_mul(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterMul(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_div(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Divide rows of a variable. A repeated row is divided by each of its values."""
    if _is_resource(ref):
        return ref.scatter_div(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterDiv(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Set rows of a variable to the larger of their values and `updates`."""
    if _is_resource(ref):
        return ref.scatter_max(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterMax(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Set rows of a variable to the smaller of their values and `updates`."""
    if _is_resource(ref):
        return ref.scatter_min(indexed_slices.IndexedSlices(updates, indices), name=name)
    return raw.ScatterMin(ref, indices, updates, use_locking=use_locking, name=name)


def _assigns_itself(ref: Any) -> bool:
    """Return whether `ref` is a resource variable, or an object of the program that acts as one."""
    return hasattr(ref, "assign_sub") and not ref.dtype.is_ref_dtype


def _is_slice(ref: Any) -> bool:
    """Return whether `ref` is a slice of a variable: a tensor with a function to assign to it."""
    return hasattr(ref, "assign") and not ref.dtype.is_ref_dtype


def _is_resource(ref: Any) -> bool:
    # An argument that is not a variable is left to the op, whose error names it.
    return hasattr(ref, "is_initialized")
