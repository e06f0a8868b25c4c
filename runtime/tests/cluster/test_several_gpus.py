"""Steps on several GPUs of a task. The GPUs are simulated: nothing runs before somebody waits."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import strict
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.contrib import nccl_ops as nccl

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    tf.reset_default_graph()
    with strict.installed(3):
        yield


def test_a_copy_between_devices_takes_the_value_that_the_source_computes() -> None:
    one, other = (strict.Strict(f"/device:GPU:{index}") for index in range(2))
    value = one.copy_in(np.ones(3, np.float32))
    there = other.copy_across(value + value, one)
    back = one.copy_across(there * there, other)
    found = one.copy_out(back)
    assert not np.array_equal(found, [4.0] * 3)
    one.stream.synchronize()
    assert found.tolist() == [4.0] * 3


def test_a_copy_of_a_failed_value_fails() -> None:
    one, other = (strict.Strict(f"/device:GPU:{index}") for index in range(2))
    value = one.copy_in(np.ones(3, np.float32))

    def fail() -> None:
        raise ValueError("the source is broken")

    one.enqueue(fail)
    other.copy_across(value, one)
    with pytest.raises(tf.errors.InternalError, match="the source is broken"):
        other.stream.synchronize()


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64", "int64", "int32"])
def test_tensors_of_each_type_are_added_up_over_devices(name: str) -> None:
    dtype, parts = tf.as_dtype(name), []
    value = tf.placeholder(dtype, [2])
    for index in range(3):
        with tf.device(f"/gpu:{index}"):
            parts.append(value * tf.cast(index + 1, dtype))
    with tf.device("/gpu:0"):
        total = tf.add_n(parts)
    with tf.Session() as session:
        found = session.run(total, {value: [1, 3]})
    assert (found.dtype, found.tolist()) == (dtype.as_numpy_dtype, [6, 18])


def test_devices_exchange_values_in_both_directions_in_each_step() -> None:
    halves = [tf.placeholder(tf.float32, [4]) for _ in range(2)]
    values = list(halves)
    for _ in range(5):
        crossed = []
        for index in range(2):
            with tf.device(f"/gpu:{index}"):
                crossed.append(values[index] * 2.0 + values[1 - index])
        values = crossed
    feeds = dict(zip(halves, (np.ones(4), np.full(4, 3.0)), strict=True))
    with tf.Session() as session:
        for _ in range(20):
            found = session.run(values, feeds)
            assert [each.tolist() for each in found] == [[485.0] * 4, [487.0] * 4]


def test_a_variable_of_one_device_is_read_and_changed_from_another() -> None:
    with tf.device("/gpu:0"):
        v = tf.Variable(np.ones(3, np.float32))
    with tf.device("/gpu:1"):
        doubled = v * 2.0
    with tf.device("/gpu:0"):
        change = v.assign_add(doubled)
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(change)[0] for _ in range(4)] == [3.0, 9.0, 27.0, 81.0]


def on_gpus(count: int = 2) -> list[Any]:
    """Return a fed vector, doubled on the first GPU, tripled on the second, and so on."""
    x = tf.placeholder(tf.float32, [3], name="x")
    towers = []
    for index in range(count):
        with tf.device(f"/gpu:{index}"):
            towers.append(x * (index + 2.0))
    return towers


FED = {"x:0": [1.0, -2.0, 4.0]}


DEVICES = ("/cpu:0", "/gpu:0", "/gpu:1", "/gpu:2")


@st.composite
def placed_sums(draw: st.DrawFn) -> list[tuple[list[int], int]]:
    """Draw sums of earlier values: the numbers of the values, and of the device of the sum."""
    return [
        (
            draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4)),
            draw(st.integers(0, len(DEVICES) - 1)),
        )
        for count in range(1, draw(st.integers(2, 10)))
    ]


@given(placed_sums())
def test_sums_on_any_devices_have_the_values_of_one_device(
    sums: list[tuple[list[int], int]],
) -> None:
    values = [np.array([1.0, -2.0])]
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, [2])
        tensors = [fed]
        for numbers, device in sums:
            with tf.device(DEVICES[device]):
                tensors.append(tf.add_n([tensors[number] for number in numbers]) * 0.5)
            values.append(sum(values[number] for number in numbers) * 0.5)
        for _ in range(2):
            for found, expected in zip(session.run(tensors, {fed: values[0]}), values, strict=True):
                np.testing.assert_allclose(found, expected)


def test_towers_train_a_variable_to_the_values_of_one_device() -> None:
    def trained(gpus: int, variables: str) -> Any:
        tf.reset_default_graph()
        data = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 4, 3)
        with tf.device(variables):
            weights = tf.Variable(np.full((3, 2), 0.5, np.float32))
        losses = []
        for index in range(2):
            with tf.device(f"/gpu:{index % gpus}"):
                losses.append(tf.reduce_sum(tf.tanh(tf.matmul(tf.constant(data[index]), weights))))
        grads = [tf.gradients(loss, weights)[0] for loss in losses]
        with tf.device("/gpu:0"):
            train = tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients(
                [(tf.add_n(grads), weights)]
            )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            return session.run(weights)

    expected = trained(1, "/cpu:0")
    for variables in ("/cpu:0", "/gpu:0"):
        np.testing.assert_allclose(trained(2, variables), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (nccl.all_sum, [5.0, -10.0, 20.0]),
        (nccl.all_prod, [6.0, 24.0, 96.0]),
        (nccl.all_min, [2.0, -6.0, 8.0]),
        (nccl.all_max, [3.0, -4.0, 12.0]),
    ],
)
def test_each_device_gets_the_reduction_of_all(function: Any, expected: list[float]) -> None:
    results = function(on_gpus())
    assert [result.device for result in results] == ["/device:GPU:0", "/device:GPU:1"]
    with tf.device("/gpu:1"):
        used = results[1] + 1.0
    with tf.Session() as session:
        for _ in range(3):
            first, second = session.run([results[0], used], FED)
            assert first.tolist() == expected
            assert second.tolist() == [value + 1 for value in expected]


def test_integers_that_are_in_host_memory_are_reduced_too() -> None:
    x = tf.placeholder(tf.int32, [2], name="n")
    towers = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            towers.append(x + index)
    with tf.device("/gpu:0"):
        total = nccl.reduce_sum(towers)
    with tf.Session() as session:
        found = session.run([*nccl.all_prod(towers), total, nccl.broadcast(total)], {x: [3, 5]})
    assert [each.tolist() for each in found] == [[12, 30], [12, 30], [7, 11], [7, 11]]


def test_a_sum_is_on_one_device_and_a_broadcast_on_all() -> None:
    towers = on_gpus()
    with tf.device("/gpu:1"):
        total = nccl.reduce_sum(towers)
    spread = nccl.broadcast(total)
    readers = []
    for index in range(3):
        with tf.device(f"/gpu:{index}"):
            readers.append(spread * 10.0 + spread)
    with tf.Session() as session:
        found = session.run([total, *readers], FED)
    assert [each.tolist() for each in found] == [[5.0, -10.0, 20.0], *[[55.0, -110.0, 220.0]] * 3]


def test_gradients_pass_through_reductions_and_broadcasts() -> None:
    towers = on_gpus()
    sums = nccl.all_sum(towers)
    with tf.device("/gpu:0"):
        total = nccl.reduce_sum(towers)
    spread = nccl.broadcast(total)
    losses = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            losses.append(tf.reduce_sum(sums[index] * (index + 1.0) + spread * 7.0))
    grads = tf.gradients(losses, towers, colocate_gradients_with_ops=True)
    with tf.Session() as session:
        found = session.run(grads, FED)
    # Each tower is in both of the sums, once with 1 and once with 2, and twice in the broadcast.
    assert [each.tolist() for each in found] == [[17.0] * 3] * 2


def test_a_step_in_which_a_device_does_not_arrive_can_be_cancelled() -> None:
    sums = nccl.all_sum(on_gpus())
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(sums[0], FED, options=tf.RunOptions(timeout_in_ms=50))
        assert session.run(sums, FED)[1].tolist() == [5.0, -10.0, 20.0]


def test_concurrent_steps_do_not_mix_their_tensors() -> None:
    x = tf.placeholder(tf.float32, [], name="y")
    towers = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            towers.append(x + float(index))
    sums = nccl.all_sum(towers)
    failed = []
    with tf.Session() as session:

        def run(value: float) -> None:
            for _ in range(20):
                found = session.run(sums, {x: value})
                if found != [2 * value + 1] * 2:
                    failed.append(found)

        threads = [threading.Thread(target=run, args=(float(value),)) for value in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed


def test_tensors_of_different_shapes_are_refused() -> None:
    x = tf.placeholder(tf.float32, name="z")
    with tf.device("/gpu:0"):
        one = x * 2.0
    with tf.device("/gpu:1"):
        other = tf.concat([x, x], 0)
    sums = nccl.all_sum([one, other])
    # The first node to arrive is input 0.
    shapes = r"same size and shape.*(\[1\].*\[2\]|\[2\].*\[1\])"
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=shapes),
    ):
        session.run(sums, {x: [1.0]})


def test_a_tensor_without_a_device_is_refused() -> None:
    for function in (nccl.all_sum, nccl.reduce_sum):
        with pytest.raises(ValueError, match="Device assignment required"):
            function([tf.ones([2])])
        with pytest.raises(ValueError, match="Must pass >0 tensors"):
            function([])
    with pytest.raises(ValueError, match="One input tensor must be assigned to current device"):
        nccl.reduce_sum(on_gpus())
