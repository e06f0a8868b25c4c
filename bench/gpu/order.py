"""The rows about GPUs in the order of the table, and those that ROWS in the environment names."""

import os
from collections.abc import Sequence

ORDER = (
    "train_softmax",
    "train_small",
    "train_mlp",
    "train_wide",
    "adam",
    "matmul_float32",
    "matmul_float16",
    "matmul_bfloat16",
    "pull",
    "push",
)


def requested() -> Sequence[str]:
    """Return the rows to measure."""
    return os.environ.get("ROWS", "").replace(",", " ").split() or ORDER


def refusal() -> str:
    """Return what is wrong with ROWS, or "" if it names rows."""
    unknown = sorted(set(requested()) - set(ORDER))
    if not unknown:
        return ""
    return f"ROWS names unknown rows {', '.join(unknown)}; the rows are {', '.join(ORDER)}"
