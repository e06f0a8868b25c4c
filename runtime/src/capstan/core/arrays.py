"""The array type of tensor values."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
"""An array of any shape and dtype. An array of strings is an object array of `bytes`."""
