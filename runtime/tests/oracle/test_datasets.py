"""`tf.data` gives the elements of TensorFlow: in Capstan's API, and for a TensorFlow client."""

from pathlib import Path
from typing import Any

import genuine
import numpy as np
import oracle_datasets
import pytest

import capstan

pytestmark = genuine.MARKS

MOST = 60
FOR_ONE_LIBRARY = ("generator",)
"""The programs whose graph runs only in its own library.

The functions of a generator are in the process of the client.
"""


def elements(
    v1: Any, program: oracle_datasets.Program, folder: Path, target: str = ""
) -> list[Any]:
    """Return the structure of a dataset, its elements and the class of the error at its end."""
    with v1.Graph().as_default(), v1.device("/job:worker/task:0" if target else ""):
        dataset = program(v1, folder)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        found = [flat(v1.data.get_output_types(dataset)), flat(v1.data.get_output_shapes(dataset))]
        with v1.Session(target) as session:
            for _ in range(2):  # the second pass begins where the first began
                session.run(iterator.initializer)
                try:
                    for _ in range(MOST):
                        found.append(flat(session.run(element)))  # noqa: PERF401 - until the end
                except v1.errors.OutOfRangeError as end:
                    found.append("End of sequence" in end.message)
    return found


def flat(value: Any) -> Any:
    """Return a structure of arrays, types or shapes as lists that can be compared."""
    if isinstance(value, dict):
        return {key: flat(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [flat(part) for part in value]
    if isinstance(value, np.ndarray | np.generic | bytes):
        array = np.asarray(value, object if isinstance(value, bytes) else None)
        return array.dtype.name, repr(array.tolist())  # NaN does not equal NaN
    return value.name if hasattr(value, "as_numpy_dtype") else str(value)


@pytest.mark.parametrize("name", oracle_datasets.PROGRAMS)
def test_a_pipeline_gives_the_elements_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, tmp_path: Path, name: str
) -> None:
    program = oracle_datasets.PROGRAMS[name]
    expected = elements(v1, program, tmp_path)
    assert elements(capstan, program, tmp_path) == expected
    if name not in FOR_ONE_LIBRARY:
        assert elements(v1, program, tmp_path, tasks.target()) == expected
    if name in ("structures", "captured tensors"):
        assert elements(capstan, program, tmp_path, tasks.target()) == expected
