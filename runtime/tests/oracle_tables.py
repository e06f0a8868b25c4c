"""Tables of small graphs, whose results and errors TensorFlow and Capstan must share."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import capstan

_NOISE = re.compile(
    r"\s|Graph execution|Detected at|Defined at|From .job|Original stack|Additional|\[\[|Node: |"
    r"\d+ root|\(\d\)"
)
Case = Callable[[Any], Any]
"""Takes the module `v1` and returns a tensor or a list of tensors."""


def outcome(v1: Any, case: Case) -> Any:
    """Return the dtypes, shapes and values of a case, or its error and the error's first line."""
    with v1.Graph().as_default(), v1.Session() as session:
        try:
            values = session.run(case(v1))
        except Exception as error:  # noqa: BLE001 - the errors are compared
            lines = str(getattr(error, "message", error)).split("\n")
            return type(error).__name__, next(
                line for line in lines if line and not _NOISE.match(line)
            )
    arrays = [np.asarray(value) for value in (values if isinstance(values, list) else [values])]
    return [(array.dtype.kind, array.shape, str(array.tolist())) for array in arrays]


def compare(v1: Any, cases: Iterable[Case]) -> None:
    for number, case in enumerate(cases):
        assert outcome(capstan, case) == outcome(v1, case), f"case {number}"
