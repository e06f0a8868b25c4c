"""The kernel that hashes the rows of a tensor (core/kernels/fingerprint_op.cc)."""

from typing import Any

import numpy as np

from capstan.core import farmhash
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _fingerprint(node: NodeContext) -> Function:
    def fingerprint(data: Array, method: Array) -> Any:
        if method.ndim:
            raise invalid(f"`method` should be a scalar string: {show(method.shape)}")
        if method.item() != b"farmhash64":
            shown = method.item().decode(errors="replace")
            raise invalid(f"Unsupported fingerprint method: {shown}")
        if not data.ndim:
            raise invalid(f"`data` should have at least one dimension: {show(data.shape)}")
        rows = data.reshape(len(data), data.size // len(data) if len(data) else 0)
        if rows.dtype != object:
            return _hashed([row.tobytes() for row in rows])
        hashes = _hashed(rows.ravel().tolist())
        # Several strings in a row are hashed again, all hashes together.
        if rows.shape[1] == 1:
            return hashes
        return _hashed([row.tobytes() for row in hashes.reshape(len(rows), 8 * rows.shape[1])])

    return fingerprint


def _hashed(texts: list[bytes]) -> Any:
    """Return the bytes of the hash of each text, the lowest first."""
    hashes = np.array([farmhash.farm64(text) for text in texts], "<u8")
    return hashes.view(np.uint8).reshape(len(texts), 8)


register(Kernel("Fingerprint", _fingerprint))
