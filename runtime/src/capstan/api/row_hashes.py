"""Hashes of the rows of a tensor (python/ops/array_ops.py)."""

from typing import Any

from capstan.framework.raw import raw

__all__ = ["fingerprint"]


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Any:
    """Return a hash of 8 bytes for each row of `data`, which has any type but at least one axis.

    A row of several strings has the hash of their hashes. "farmhash64" is the only method.

    Raises:
        ValueError: `method` is another one. If it is only known in a step, the step raises
            InvalidArgumentError.

    Returns:
        uint8 numbers [rows, 8].
    """
    return raw.Fingerprint(data, method, name=name)
