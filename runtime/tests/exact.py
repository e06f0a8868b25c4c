"""Arrays whose products are exact, so that sums in any order are equal."""

from typing import Any, Final

import numpy as np

ORDERS: Final = {"rows": np.ascontiguousarray, "columns": np.asfortranarray}
"""Functions that copy a matrix into an order of memory."""


def integers(seed: int, *shape: int, dtype: Any = np.float32) -> Any:
    """Return small random integers as floats."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)
