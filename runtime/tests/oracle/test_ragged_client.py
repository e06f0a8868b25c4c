"""TensorFlow's own client runs its ragged tensors on a task of Capstan."""

from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS

PROGRAMS: list[Any] = [
    lambda v1, rows: [rows.to_tensor(), rows.to_tensor(-1.0, shape=[None, 2])],
    lambda v1, rows: [rows.to_sparse(), rows.value_rowids(), rows.bounding_shape()],
    lambda v1, rows: [rows * 2.0 + rows, rows[1:, :-1], v1.reduce_sum(rows, axis=1)],
    lambda v1, rows: [v1.gather(rows, [2, 0]), v1.concat([rows, rows], axis=1)],
    lambda v1, rows: [v1.tile(rows, [2, 2]), v1.expand_dims(rows, 1)],
    lambda v1, rows: [v1.reduce_mean(rows, axis=0), v1.where(rows > 2.0), v1.stack([rows, rows])],
    lambda v1, rows: [
        v1.convert_to_tensor(slope)
        for slope in v1.gradients(v1.gather(rows, [2, 0, 2]).flat_values ** 2, rows.flat_values)
    ],
    lambda v1, rows: [v1.strings.unicode_split(["aé", "", "b"], "UTF-8")],
    lambda v1, rows: [v1.ragged.range([1, 5], [4, 5]), v1.ragged.boolean_mask(rows, rows > 2.0)],
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_ragged_program_gives_the_results_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, number: int
) -> None:
    found = []
    for target, device in (("", ""), (tasks.target(), "/job:ps/task:0")):
        with v1.Graph().as_default(), v1.device(device), v1.Session(target) as session:
            rows = v1.ragged.placeholder(v1.float32, 1, [])
            fed = v1.ragged.constant_value([[1.0, 2], [], [3, 4, 5]], np.float32)
            fetches = PROGRAMS[number](v1, rows)
            values = session.run(fetches, {rows: fed})
            found.append([repr(value) for value in values])
    assert found[0] == found[1]
