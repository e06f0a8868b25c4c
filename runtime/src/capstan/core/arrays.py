"""The arrays that steps pass around."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
"""An array of any shape and dtype; strings are object arrays of `bytes`."""
