"""The results of the functions of `py_function` are converted as in TensorFlow."""

import itertools
from typing import Any

import genuine
import numpy as np
from oracle_tables import outcome

import capstan

pytestmark = genuine.MARKS

RETURNED: list[Any] = [
    1.5, 1, True, None, "x", b"x", 1j, [1, 2.5], (1, 2), 2**40, np.float64(1.5), np.int64(3),
    np.array([1.5]), np.array([1, 2]), np.array([True]), np.array(["a"]), [np.array([1])], [[1, 2]],
    [],
]  # fmt: skip


def test_py_function_converts_results_in_the_same_way(v1: Any) -> None:
    """TensorFlow converts NumPy's text to bool. This is left out."""
    types = ("float32", "int32", "bool", "string")
    for value, name in itertools.product(RETURNED, types):
        is_text = isinstance(value, np.ndarray) and value.dtype.kind == "U"
        if name == "bool" and is_text:
            continue

        def case(module: Any, value: Any = value, name: str = name) -> Any:
            return module.py_function(lambda: value, [], getattr(module, name))

        ours, theirs = outcome(capstan, case), outcome(v1, case)
        assert ours[0] == theirs[0], (value, name)


def test_py_function_takes_the_same_numbers_of_results(v1: Any) -> None:
    def case(module: Any, value: Any, count: int) -> Any:
        return module.py_function(lambda: value, [], [module.int32] * count)

    for value, count in itertools.product((1, (1, 2), [], None), (1, 2)):
        ours, theirs = (
            outcome(module, lambda module, value=value, count=count: case(module, value, count))
            for module in (capstan, v1)
        )
        assert ours[0] == theirs[0], (value, count)
