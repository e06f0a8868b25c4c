"""Arrays of pandas DataFrames (contrib/learn/python/learn/learn_io/pandas_io.py)."""

from typing import Any, Final

_TYPES: Final = frozenset(
    (
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *("float16", "float32", "float64", "bool"),
    )
)


def extract_pandas_data(data: Any) -> Any:
    """Return a DataFrame of numbers and truth values as an array of float64, and others as is.

    Raises:
        ValueError: a column has another type.
    """
    if not hasattr(data, "columns"):
        return data
    _check(data, "data")
    return data.values.astype("float")


def extract_pandas_matrix(data: Any) -> Any:
    """Return the array of a DataFrame, and others as is."""
    return data.values if hasattr(data, "columns") else data


def extract_pandas_labels(labels: Any) -> Any:
    """Return the array of a DataFrame with one column, and others as is.

    Raises:
        ValueError: there are several columns, or the column is neither numbers nor truth values.
    """
    if not hasattr(labels, "columns"):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    _check(labels, "labels")
    return labels.values


def _check(frame: Any, what: str) -> None:
    wrong = [name for name in frame if frame[name].dtype.name not in _TYPES]
    if wrong:
        listed = ", ".join(f"{str(name)!r} type={frame[name].dtype.name!r}" for name in wrong)
        raise ValueError(
            f"Data types for extracting pandas {what} must be int, float, or bool. Found: {listed}"
        )
