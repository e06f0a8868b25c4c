"""Lists and optionals on devices with memories of their own: their tensors are where they are."""

from collections.abc import Callable, Iterator
from typing import Any

import clusters
import numpy as np
import pytest
import strict

import capstan as tf
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.resources import tensor_list, variant

PLACES = ("/cpu:0", "/gpu:0", "/gpu:1")
FLOATS = {"element_dtype": dtypes.float32}
ROWS = np.float32([[1, 2], [3, 4]])


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    tf.reset_default_graph()
    with strict.installed(2):
        yield


def pushed(rows: Any) -> Any:
    """Return a list of the two rows of a tensor, which are not constants."""
    made = raw.EmptyTensorList([2], -1, **FLOATS)
    return raw.TensorListPushBack(raw.TensorListPushBack(made, rows[0] * 1.0), rows[1] * 1.0)


def stacked(handle: Any, **attrs: Any) -> Any:
    return raw.TensorListStack(handle, [2], **FLOATS, **attrs)


def nested(handle: Any) -> Any:
    """Return a list that holds a list twice."""
    made = raw.EmptyTensorList(np.int32([]), -1, element_dtype=dtypes.variant)
    return raw.TensorListPushBack(raw.TensorListPushBack(made, handle), handle)


def last(handle: Any) -> Any:
    return raw.TensorListPopBack(handle, np.int32([]), element_dtype=dtypes.variant)[1]


def branch(handle: Any) -> Any:
    """Pass a list through a branch that is taken."""
    yes = tf.placeholder_with_default(True, [])
    return tf.cond(yes, lambda: handle, lambda: raw.TensorListResize(handle, 0))


def looped(handle: Any) -> Any:
    """Push a row onto a list, in each of two iterations of a loop."""
    row = tf.placeholder_with_default(np.float32([5, 6]), [2])
    return tf.while_loop(
        lambda i, _: i < 2,
        lambda i, found: (i + 1, raw.TensorListPushBack(found, row)),
        [0, handle],
    )[1]


def queued(handle: Any) -> Any:
    """Pass a list through a queue, which is on the CPU."""
    held = tf.FIFOQueue(1, [tf.variant], [[]])
    with tf.control_dependencies([held.enqueue([handle])]):
        return held.dequeue()


def staged(handle: Any) -> Any:
    types = {"dtypes": [dtypes.variant], "shared_name": b"area"}
    with tf.control_dependencies([raw.Stage([handle], **types)]):
        (found,) = raw.Unstage(**types)
    return found


def optional(handle: Any) -> Any:
    made = raw.OptionalFromValue([handle, raw.TensorListLength(handle), tf.constant("text")])
    types = {
        "output_types": [dtypes.variant, dtypes.int32, dtypes.string],
        "output_shapes": [tf.TensorShape([])] * 3,
    }
    with tf.control_dependencies([raw.OptionalHasValue(made)]):
        return raw.OptionalGetValue(made, **types)[0]


WAYS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda handle: handle,
    "sum": lambda handle: raw.AddN([handle, raw.ZerosLike(handle)]),
    "nested": lambda handle: last(nested(handle)),
    "branch": branch,
    "loop": looped,
    "optional": optional,
    "unset": lambda handle: raw.TensorListResize(handle, 3),
}


@pytest.mark.e2e
@pytest.mark.parametrize("source", PLACES)
@pytest.mark.parametrize("way", PLACES)
@pytest.mark.parametrize("name", WAYS)
def test_a_list_may_pass_from_any_device_to_any_other(name: str, way: str, source: str) -> None:
    rows = tf.placeholder(tf.float32, [2, 2])
    config = tf.ConfigProto(allow_soft_placement=True)  # One of the lists has an integer.
    with tf.device(source):
        handle = pushed(rows)
    with tf.device(way):
        handle = WAYS[name](handle)
    found = []
    for place in PLACES:
        with tf.device(place):
            found += [stacked(handle) + 0.0, raw.TensorListLength(handle)]
    more = {"loop": [[5, 6], [5, 6]], "unset": [[0, 0]]}.get(name, [])
    with tf.Session(config=config) as session:
        for value in session.run(found, {rows: ROWS}):
            expected = [*ROWS.tolist(), *more]
            assert value.tolist() == (expected if value.ndim else len(expected))


@pytest.mark.e2e
@pytest.mark.parametrize("way", [queued, staged])
def test_a_queue_and_a_staging_area_keep_a_list_of_a_gpu(way: Callable[[Any], Any]) -> None:
    rows = tf.placeholder(tf.float32, [2, 2])
    with tf.device("/gpu:0"):
        handle = pushed(rows)
    with tf.device("/cpu:0" if way is queued else "/gpu:0"):
        handle = way(handle)
    with tf.device("/gpu:0"):
        found = stacked(handle) + 0.0
    with tf.Session() as session:
        for factor in (1, 2):
            assert session.run(found, {rows: ROWS * factor}).tolist() == (ROWS * factor).tolist()


@pytest.mark.e2e
def test_lists_of_several_devices_have_a_sum() -> None:
    rows = tf.placeholder(tf.float32, [2, 2])
    parts = []
    for place in PLACES:
        with tf.device(place):
            parts.append(pushed(rows))
    with tf.device("/gpu:1"):
        total = stacked(raw.AddN([*parts, parts[1]]))
    with tf.Session() as session:
        assert session.run(total, {rows: ROWS}).tolist() == (4 * ROWS).tolist()


@pytest.mark.e2e
def test_a_list_of_a_gpu_may_be_read_on_other_tasks() -> None:
    rows = tf.placeholder(tf.float32, [2, 2])
    with tf.device("/job:ps/gpu:0"):
        handle = pushed(rows)
    found = []
    for place in ("/job:worker/task:0/gpu:1", "/job:worker/task:1/cpu:0", "/job:ps/gpu:1"):
        with tf.device(place):
            handle = raw.TensorListPushBack(handle, tf.ones([2]) * rows[0, 0])
            found.append(stacked(handle) + 0.0)
    with (
        clusters.running(ps=1, worker=2) as servers,
        tf.Session(servers["worker:0"].target) as session,
    ):
        values = session.run(found, {rows: ROWS})
    assert [value.tolist() for value in values] == [
        [*ROWS.tolist(), *[[1, 1]] * count] for count in (1, 2, 3)
    ]


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64, tf.int32, tf.int64, tf.bool])
def test_a_list_of_any_type_on_a_gpu_gives_the_values_of_the_cpu(dtype: Any) -> None:
    of = {"element_dtype": dtype}
    values = tf.placeholder(dtype, [3, 2])
    found = []
    for place in ("/gpu:0", "/cpu:0"):
        with tf.device(place):
            made = raw.TensorListReserve([2], 2, **of)
            made = raw.TensorListSetItem(made, 1, values[0])
            made = raw.TensorListConcatLists(made, raw.TensorListFromTensor(values, [2]), **of)
            made = raw.TensorListScatterIntoExistingList(made, values[1:], [5, 0])
            joined, lengths = raw.TensorListConcatV2(
                raw.TensorListSplit(values, [-1, 2], np.int64([1, 2])), [-1, 2], np.int64([]), **of
            )
            rest, popped = raw.TensorListPopBack(made, [2], **of)
            unset = raw.FakeParam(dtype=dtype, shape=[1, 2])
            found.append(
                [
                    raw.TensorListStack(made, [2], **of),
                    raw.TensorListGather(rest, [1, 4, 1], [2], **of),
                    raw.TensorListGetItem(rest, 4, [2], **of),
                    raw.TensorListElementShape(rest, shape_type=tf.int64),
                    tf.concat([joined, unset], 0),
                    lengths,
                    popped,
                ]
            )
    with tf.Session() as session:
        one, other = session.run(found, {values: np.arange(6).reshape(3, 2) % 4})
    for value, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(value, expected, strict=True)


def test_a_copy_of_a_list_copies_its_tensors_and_no_integers() -> None:
    home = strict.Strict("/device:GPU:0")
    numbers = tensor_list.TensorList(dtypes.int32, (), [np.int32(3), None])
    floats = tensor_list.TensorList(dtypes.float32, (), [np.float32(4)])
    outer = tensor_list.TensorList(
        dtypes.variant, None, [variant.scalar(numbers), variant.scalar(floats)]
    )
    (first, second) = (
        each.item()
        for each in variant.moved(variant.scalar(outer), dtypes.variant, home.copy_in)
        .item()
        .elements
    )
    assert first.elements == [3, None]
    (element,) = second.elements
    assert home.fetch(element) == 4


def test_a_copy_of_a_list_to_the_host_that_fails_first_ends_its_other_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The memory of NumPy arrays that are garbage may serve others while a GPU writes to it."""
    copy_out, copied = strict.Strict.copy_out, list[Any]()

    def fails_at_the_second(home: strict.Strict, value: Any) -> Any:
        if copied:
            raise tf.errors.ResourceExhaustedError(None, None, "no page-locked memory is left")
        copied.append(copy_out(home, value))
        return copied[0]

    monkeypatch.setattr(strict.Strict, "copy_out", fails_at_the_second)
    rows = tf.placeholder(tf.float32, [2, 2])
    with tf.device("/gpu:0"):
        handle = pushed(rows)
    with tf.device("/cpu:0"):
        found = stacked(handle)
    with tf.Session() as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="no page-locked memory"):
            session.run(found, {rows: ROWS})
        assert copied[0].tolist() == ROWS[0].tolist()
