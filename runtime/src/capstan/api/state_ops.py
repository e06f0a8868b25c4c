"""TensorFlow 1's functions that change reference variables (python/ops/state_ops.py).

Each function returns a tensor. Computing that tensor changes the variable and returns the new
value. `use_locking` has no effect, because every change holds the variable's lock.
"""

from typing import Any

from capstan.framework.raw import raw

__all__ = [
    "assign", "assign_add", "assign_sub", "is_variable_initialized", "scatter_add", "scatter_sub",
    "scatter_update",
]  # fmt: skip


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Set a variable. If `validate_shape` is false, the variable may change its shape."""
    return raw.Assign(ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    return raw.AssignAdd(ref, value, use_locking=use_locking, name=name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    return raw.AssignSub(ref, value, use_locking=use_locking, name=name)


def is_variable_initialized(ref: Any, name: str | None = None) -> Any:
    """Return a boolean scalar, which is true in a step if the variable then has a value."""
    return raw.IsVariableInitialized(ref, name=name)


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Set rows of a variable. A row that is repeated gets one of its values."""
    return raw.ScatterUpdate(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Add to rows of a variable. The values of a repeated row are summed."""
    return raw.ScatterAdd(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtract from rows of a variable. The values of a repeated row are summed."""
    return raw.ScatterSub(ref, indices, updates, use_locking=use_locking, name=name)
