"""Pipelines of queues give the same batches, in the same order, as in TensorFlow."""

import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

TEXT = "1,1.5,a\n2,,b\n,3.5,c\n4,4.5,\n5,5.5,e\n"
Pipeline = Callable[[Any, list[str]], Any]


def lines(v1: Any, queue: Any) -> Any:
    key, value = v1.TextLineReader().read(queue)
    columns = v1.decode_csv(value, [[0], [0.0], [""]])
    return [key, *columns]


def string_producer(v1: Any, names: list[str]) -> Any:
    return v1.train.string_input_producer(names, num_epochs=2, seed=3).dequeue()


def producer(v1: Any, names: list[str]) -> Any:
    values = [[1, 2], [3, 4], [5, 6]]
    return v1.train.input_producer(values, num_epochs=3, seed=4, name="values").dequeue()


def numbers(v1: Any, names: list[str]) -> Any:
    return v1.train.range_input_producer(9, num_epochs=1, seed=5).dequeue_up_to(4)


def slices(v1: Any, names: list[str]) -> Any:
    values = [np.arange(6), [f"s{number}" for number in range(6)]]
    return v1.train.slice_input_producer(values, num_epochs=2, seed=6)


def ordered_batches(v1: Any, names: list[str]) -> Any:
    queue = v1.train.string_input_producer(names, num_epochs=1, shuffle=False)
    return v1.train.batch(lines(v1, queue), 4, allow_smaller_final_batch=True)


def batches_without_the_rest(v1: Any, names: list[str]) -> Any:
    queue = v1.train.string_input_producer(names, num_epochs=1, shuffle=False)
    _, number, _, letter = lines(v1, queue)
    return list(v1.train.batch({"n": number, "l": letter}, 4).values())


def padded_batches(v1: Any, names: list[str]) -> Any:
    number = v1.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    return v1.train.batch([number, v1.fill([number], "x"), v1.range(number)], 3, dynamic_pad=True)


def shuffled_batches(v1: Any, names: list[str]) -> Any:
    number = v1.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
    return v1.train.shuffle_batch(
        [number], 3, capacity=30, min_after_dequeue=19, seed=7, allow_smaller_final_batch=True
    )


def joined_batches(v1: Any, names: list[str]) -> Any:
    queue = v1.train.string_input_producer(names, num_epochs=1, shuffle=False)
    rows = [lines(v1, queue)[1:] for _ in range(2)]
    return v1.train.batch_join(rows, 10, allow_smaller_final_batch=True)


def joined_shuffled_batches(v1: Any, names: list[str]) -> Any:
    numbers = [
        [v1.train.range_input_producer(5, num_epochs=1).dequeue(), v1.constant(at)]
        for at in range(2)
    ]
    return v1.train.shuffle_batch_join(
        numbers, 10, capacity=20, min_after_dequeue=9, shapes=[(), ()], shared_name="joined"
    )


def many_at_once(v1: Any, names: list[str]) -> Any:
    row = v1.train.input_producer(np.arange(12).reshape(3, 4), num_epochs=1, shuffle=False)
    return v1.train.batch([row.dequeue()], 3, enqueue_many=True)


def sparse_batches(v1: Any, names: list[str]) -> Any:
    number = v1.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    places = v1.expand_dims(v1.cast(v1.range(number), v1.int64), 1)
    value = v1.SparseTensor(places, v1.fill([number], "x"), v1.cast([number + 1], v1.int64))
    found = v1.train.maybe_batch([value, number], v1.greater(number, 0), 2)
    return [found[0].indices, found[0].values, found[0].dense_shape, found[1]]


def many_sparse_batches(v1: Any, names: list[str]) -> Any:
    number = v1.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    value = v1.SparseTensor([[0, 1], [2, 0]], v1.stack([number, number + 10]), [3, 2])
    found = v1.train.maybe_batch([value], [True, False, True], 2, enqueue_many=True)
    return [found.indices, found.values, found.dense_shape]


def kept_elements(v1: Any, names: list[str]) -> Any:
    number = v1.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    even = v1.equal(v1.floormod(number, 2), 0)
    return v1.train.maybe_batch([number], even, 2)


def kept_rows(v1: Any, names: list[str]) -> Any:
    row = v1.train.input_producer(np.arange(12).reshape(3, 4), num_epochs=1, shuffle=False)
    values = row.dequeue()
    return v1.train.maybe_batch([values], v1.greater(values, 5), 2, enqueue_many=True)


def once_matched(v1: Any, names: list[str]) -> Any:
    pattern = str(pathlib.Path(names[0]).parent / "*.csv")
    found = v1.train.match_filenames_once(pattern)
    queue = v1.train.string_input_producer(found, num_epochs=1, shuffle=False)
    return v1.WholeFileReader().read(queue)


IN_ORDER = [
    string_producer, producer, numbers, slices, ordered_batches, batches_without_the_rest,
    padded_batches, shuffled_batches, many_at_once, kept_elements, kept_rows,
    sparse_batches, many_sparse_batches,
    once_matched,
]  # fmt: skip
SPARSE = [sparse_batches, many_sparse_batches]
"""Capstan keeps sparse tensors in the queue, TensorFlow in a map, by other operations."""
IN_ANY_ORDER = [joined_batches, joined_shuffled_batches]


def outputs(v1: Any, pipeline: Pipeline, names: list[str]) -> tuple[list[Any], list[str]]:
    """Return the outputs of all steps until the end, and the names that a program may use."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        fetches = pipeline(v1, names)
        if isinstance(fetches, dict):
            fetches = [fetches[key] for key in sorted(fetches)]
        used = [getattr(each, "name", None) for each in v1.nest_of(fetches)]
        used += [variable.name for variable in v1.local_variables()]
        used += [each.name for each in graph.get_collection("queue_runners")]
        used += [each.name for each in graph.get_collection("summaries")]
        session.run(v1.local_variables_initializer())
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        steps = []
        try:
            while not coordinator.should_stop():
                values = session.run(fetches)
                steps.append([np.asarray(value).tolist() for value in v1.nest_of(values)])
        except v1.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
        # TensorFlow 2 gathers and restores sparse tensors by other operations.
        names = [name and name.replace("GatherV2", "Gather") for name in used]
        return steps, [name for name in names if "SparseTensor" not in str(name)]


class Both:
    """A module of TensorFlow or of Capstan, and a function that flattens fetches."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def nest_of(self, value: Any) -> list[Any]:
        return list(value) if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("pipeline", IN_ORDER + IN_ANY_ORDER)
def test_a_pipeline_gives_the_same_batches(
    v1: Any, tmp_path: pathlib.Path, pipeline: Pipeline
) -> None:
    names = []
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(TEXT)
        names.append(str(tmp_path / name))
    expected, expected_names = outputs(Both(v1), pipeline, names)
    found, found_names = outputs(Both(capstan), pipeline, names)
    if pipeline not in SPARSE:
        assert found_names == expected_names
    if pipeline in IN_ORDER:
        assert found == expected
    else:
        assert [_elements(step) for step in found] == [_elements(step) for step in expected]
    assert found


def _elements(step: list[Any]) -> list[Any]:
    """Return the elements of a batch in sorted order, because threads race."""
    return sorted(zip(*step, strict=True))


def test_counters_and_shuffles_are_the_same(v1: Any) -> None:
    def counted(v1: Any) -> Any:
        count = v1.get_variable("count", initializer=v1.constant(1, v1.int64))
        with v1.control_dependencies([count.initializer]):
            return v1.count_up_to(count, 1)

    compare(
        v1,
        [
            lambda v1: v1.random_shuffle(np.arange(30).reshape(15, 2), seed=5),
            lambda v1: v1.random_shuffle([7], seed=5),
            lambda v1: v1.random_shuffle(np.zeros((0, 2)), seed=5),
            lambda v1: v1.random_shuffle(["a", "b", "c"], seed=6),
            counted,
        ],
    )


def test_a_resource_variable_counts_up_to_a_limit() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        shape = capstan.TensorShape([])
        handle = raw.VarHandleOp(dtype=capstan.int32, shape=shape, shared_name="count")
        session.run(raw.AssignVariableOp(handle, 0))
        count = raw.ResourceCountUpTo(handle, limit=2, T=capstan.int32)
        assert [session.run(count) for _ in range(2)] == [0, 1]
        with pytest.raises(capstan.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(count)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_counts_up_to_a_limit(use_resource: bool) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        count = capstan.Variable(0, use_resource=use_resource)
        session.run(count.initializer)
        step = count.count_up_to(2)
        assert [session.run(step) for _ in range(2)] == [0, 1]
        with pytest.raises(capstan.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(step)
        with pytest.raises(capstan.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(capstan.count_up_to(count, 2))


def test_wrong_arguments_raise_the_same_errors(v1: Any) -> None:
    def element(v1: Any) -> Any:
        return v1.placeholder(v1.float32, [None])

    compare(
        v1,
        [
            lambda v1: v1.train.string_input_producer([]),
            lambda v1: v1.train.input_producer(v1.placeholder(v1.int32), num_epochs=1),
            lambda v1: v1.train.limit_epochs(v1.constant(1), 0),
            lambda v1: v1.train.slice_input_producer([]),
            lambda v1: v1.train.batch([], 2),
            lambda v1: v1.train.batch([v1.placeholder(v1.float32, name="x")], 2),
            lambda v1: v1.train.batch([element(v1)], 2),
            lambda v1: v1.train.batch_join([], 2),
            lambda v1: v1.train.batch_join([[1], [1.5]], 2),
            lambda v1: v1.train.batch_join([{"a": 1}, {"b": 1}], 2),
            lambda v1: v1.train.shuffle_batch([1], 2, 5, 5),
            lambda v1: v1.train.maybe_batch([1], [True], 2),
            lambda v1: v1.train.maybe_batch([1], v1.placeholder(v1.bool), 2),
            lambda v1: v1.train.maybe_batch([1], [[True]], 2, enqueue_many=True),
        ],
    )
