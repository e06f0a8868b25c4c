"""Collective operations of several tasks. The tasks are servers of this process."""

import contextlib
import functools
import gc
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import clusters
import numpy as np
import pytest
from background import Background, until

import capstan as tf
from capstan import errors
from capstan.python.ops import collective_ops
from capstan.services import collective_steps, collectives, group_leader, targets
from capstan.transport import api
from capstan.transport.grpc import remote_worker

COUNT = 3
LEADER = "/job:worker/replica:0/task:0"

Build = Callable[[int], Any]


@contextlib.contextmanager
def workers(count: int, devices: int = 1) -> Iterator[list[Any]]:
    """Start the workers of a cluster, whose leader is worker 0."""
    config = tf.ConfigProto(device_count={"CPU": devices})
    config.experimental.collective_group_leader = LEADER
    spec = clusters.spec(worker=count)
    found = [
        tf.train.Server(spec, job_name="worker", task_index=task, config=config)
        for task in range(count)
    ]
    try:
        yield found
    finally:
        for server in found:
            server.stop()


@pytest.fixture(scope="module")
def three() -> Iterator[list[Any]]:
    with workers(COUNT) as found:
        yield found


def task_of(number: int) -> str:
    return f"/job:worker/task:{number}"


def session(server: Any, number: int) -> Any:
    return tf.Session(server.target, config=tf.ConfigProto(device_filters=[task_of(number)]))


def begin(
    servers: Sequence[Any], build: Build, tasks: Sequence[int] = (), **options: Any
) -> list[Background]:
    """Let some or all workers build a graph and run its fetches, each in a thread of its own."""

    def work(number: int) -> Any:
        with tf.Graph().as_default(), tf.device(f"{task_of(number)}/device:CPU:0"):
            fetches = build(number)
            with session(servers[number], number) as run:
                return run.run(fetches, **options)

    chosen = tasks or range(len(servers))
    return [Background(lambda number=number: work(number)) for number in chosen]


def together(servers: Sequence[Any], build: Build, **options: Any) -> list[Any]:
    return [each.join() for each in begin(servers, build, **options)]


def ones(instance_key: int) -> Build:
    """Return a function that adds a one of each worker."""
    return lambda _: collective_ops.all_reduce(tf.ones([1]), COUNT, 1, instance_key, "Add", "Id")


def errors_of(begun: Sequence[Background]) -> list[Any]:
    found = []
    for each in begun:
        with pytest.raises(tf.errors.OpError) as caught:
            each.join()
        found.append(caught.value)
    return found


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("size", [7, 30_011])  # to all tasks at once, and around the ring
def test_all_workers_get_the_sum(three: list[Any], dtype: str, size: int) -> None:
    values = [np.random.RandomState(task).randint(-9, 9, size).astype(dtype) for task in range(3)]

    def build(task: int) -> Any:
        here = tf.constant(values[task])
        key = 1000 + size + tf.as_dtype(dtype).as_datatype_enum
        return [
            collective_ops.all_reduce(here, COUNT, 1, key, "Add", "Id"),
            collective_ops.all_reduce(here, COUNT, 1, key + 100_000, "Add", "Div"),
        ]

    total = np.sum(values, 0, dtype=dtype)
    mean = total / 3 if total.dtype.kind == "f" else np.trunc(total / 3)
    for added, divided in together(three, build):
        np.testing.assert_array_equal(added, total)
        np.testing.assert_allclose(divided, mean.astype(dtype), rtol=1e-3)


def test_all_workers_get_the_same_bits(three: list[Any]) -> None:
    def build(task: int) -> Any:
        values = np.random.RandomState(task).rand(20_000, 3).astype(np.float32)
        return [
            collective_ops.all_reduce(tf.constant(part), COUNT, 1, key, "Mul", "Id")
            for key, part in ((2, values), (3, values[:3]))
        ]

    first, *others = together(three, build)
    for other in others:
        np.testing.assert_array_equal(first[0], other[0])
        np.testing.assert_array_equal(first[1], other[1])


def test_rows_are_gathered_in_the_order_of_the_tasks(three: list[Any]) -> None:
    def build(task: int) -> Any:
        rows = tf.random_uniform([task + 1, 2], task, task + 1)
        unknown = tf.placeholder_with_default(rows, [None, 2])
        return collective_ops.all_gather(unknown, COUNT, 1, 4)

    first, *others = together(three, build)
    assert np.floor(first[:, 0]).tolist() == [0, 1, 1, 2, 2, 2]
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_fed_rows_whose_numbers_differ_are_refused_in_every_step(three: list[Any]) -> None:
    """The compiler knows the number of rows of a feed, and computes the shape of the output."""

    def work(task: int) -> Any:
        with tf.Graph().as_default(), tf.device(f"{task_of(task)}/device:CPU:0"):
            fed = tf.placeholder(tf.float32, [None])
            rows = collective_ops.all_gather(fed, COUNT, 1, 5)
            both = rows, tf.shape(rows)
            with session(three[task], task) as run:
                run.run(both, {fed: [task]})
                with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch in"):
                    run.run(both, {fed: [task] * (1 + task % 2)})
                gathered, shape = run.run(both, {fed: [task] * 2})
                return gathered.tolist(), shape.tolist()

    begun = [Background(lambda task=task: work(task)) for task in range(COUNT)]
    assert [each.join() for each in begun] == [([0, 0, 1, 1, 2, 2], [6])] * COUNT


@pytest.mark.parametrize("source", range(COUNT))
def test_all_workers_get_the_tensor_of_the_source(three: list[Any], source: int) -> None:
    def build(task: int) -> Any:
        key = 5 + source
        if task != source:
            return collective_ops.broadcast_recv([2], tf.float64, COUNT, 1, key)
        here = tf.constant([task + 0.5, 2], tf.float64)
        return collective_ops.broadcast_send(here, [2], tf.float64, COUNT, 1, key)

    for found in together(three, build):
        assert found.tolist() == [source + 0.5, 2]


def test_each_run_gets_the_tensors_of_this_run(three: list[Any]) -> None:
    def work(task: int) -> Any:
        with tf.Graph().as_default(), tf.device(f"{task_of(task)}/device:CPU:0"):
            fed = tf.placeholder(tf.int64, [None])
            total = collective_ops.all_reduce(fed, COUNT, 1, 10, "Add", "Id")
            with session(three[task], task) as run:
                return [run.run(total, {fed: [10**task * step] * 2})[1] for step in range(20)]

    found = [Background(lambda task=task: work(task)) for task in range(COUNT)]
    for each in found:
        assert each.join() == [111 * step for step in range(20)]


def test_a_loop_runs_an_instance_in_each_iteration(three: list[Any]) -> None:
    def build(task: int) -> Any:
        def body(number: Any, total: Any) -> Any:
            with tf.device(f"{task_of(task)}/device:CPU:0"):
                here = tf.identity(total + tf.cast(number, tf.float32))
                return number + 1, collective_ops.all_reduce(here, COUNT, 1, 11, "Add", "Id")

        return tf.while_loop(lambda number, _: number < 3, body, [0, tf.constant(float(task))])

    # (0 + 1 + 2) = 3, then 3 * (3 + 1) = 12, then 3 * (12 + 2) = 42
    assert [float(total) for _, total in together(three, build)] == [42.0] * COUNT


def test_the_devices_of_a_task_and_other_tasks_form_one_group() -> None:
    with workers(2, devices=2) as servers:

        def build(task: int) -> Any:
            sums, rows = [], []
            for number in range(2):
                with tf.device(f"{task_of(task)}/device:CPU:{number}"):
                    here = tf.constant([1.0 + 2 * task + number])
                    sums.append(collective_ops.all_reduce(here, 4, 1, 1, "Add", "Div"))
                    rows.append(collective_ops.all_gather(here, 4, 1, 2))
            return sums, rows

        for sums, rows in together(servers, build):
            assert [each.tolist() for each in sums] == [[2.5]] * 2
            assert [each.tolist() for each in rows] == [[1.0, 2.0, 3.0, 4.0]] * 2


def test_a_session_in_this_process_has_groups_of_its_devices() -> None:
    sums = []
    for number in range(2):
        with tf.device(f"/device:CPU:{number}"):
            here = tf.constant([number + 1, 5])
            sums.append(collective_ops.all_reduce(here, 2, 1, 1, "Mul", "Id"))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as run:
        assert [each.tolist() for each in run.run(sums)] == [[2, 25]] * 2


def test_the_threads_of_a_session_in_this_process_end_with_it() -> None:
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        totals = []
        for number in range(2):
            with tf.device(f"/device:CPU:{number}"):
                totals.append(collective_ops.all_reduce(tf.ones([1]), 2, 1, 1, "Add", "Id"))
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as run:
            run.run(totals)
    made = [
        each
        for each in threading.enumerate()
        if each not in before and each.name.startswith("capstan-collective")
    ]
    assert made
    del run
    gc.collect()
    for each in made:
        each.join()


def test_the_client_may_give_the_key_of_the_graph(three: list[Any]) -> None:
    options = tf.RunOptions()
    options.experimental.collective_graph_key = 77

    def build(task: int) -> Any:
        total = collective_ops.all_reduce(tf.constant([2.0]), COUNT, 1, 12, "Add", "Id")
        # The keys that follow from these instances would differ.
        return total if task else [total]

    found = together(three, build, options=options)
    assert [float(np.ravel(each)[0]) for each in found] == [6.0] * COUNT


# --- errors


def test_members_with_other_shapes_are_refused(three: list[Any]) -> None:
    def build(task: int) -> Any:
        return collective_ops.all_reduce(tf.zeros([2 + task // 2]), COUNT, 1, 20, "Add", "Id")

    found = errors_of(begin(three, build))
    assert {type(error) for error in found} == {tf.errors.InvalidArgumentError}
    assert all("Shape mismatch in" in error.message for error in found)


def test_a_task_that_comes_after_a_step_has_failed_gets_its_error_and_does_not_wait(
    three: list[Any],
) -> None:
    def build(task: int) -> Any:
        return collective_ops.all_reduce(tf.zeros([2 + task % 2]), COUNT, 1, 30, "Add", "Id")

    together(three, ones(31))  # completes the group
    options = tf.RunOptions()
    options.experimental.collective_graph_key = 30
    found = errors_of(begin(three, build, [0, 1], options=options))
    found += errors_of(begin(three, build, [2], options=options))
    assert {type(error) for error in found} == {tf.errors.InvalidArgumentError}
    assert all("Shape mismatch in" in error.message for error in found)
    again = together(three, ones(30), options=options)
    assert [each.tolist() for each in again] == [[3.0]] * COUNT


def test_inputs_whose_shapes_differ_in_a_later_run_are_refused(three: list[Any]) -> None:
    def work(task: int) -> Any:
        with tf.Graph().as_default(), tf.device(f"{task_of(task)}/device:CPU:0"):
            size = tf.get_variable("size", initializer=2, use_resource=True)
            total = collective_ops.all_reduce(tf.zeros([size]), COUNT, 1, 21, "Add", "Id")
            with session(three[task], task) as run:
                run.run(size.initializer)
                run.run(total)
                run.run(size.assign(2 + task % 2))
                run.run(total)

    found = errors_of([Background(lambda task=task: work(task)) for task in range(COUNT)])
    assert {type(error) for error in found} == {tf.errors.InvalidArgumentError}
    assert all("Shape mismatch" in error.message for error in found)


def test_a_broadcast_without_a_source_is_refused(three: list[Any]) -> None:
    found = errors_of(
        begin(three, lambda _: collective_ops.broadcast_recv([1], tf.int32, COUNT, 1, 22))
    )
    assert {type(error) for error in found} == {tf.errors.InternalError}
    assert all("found no source for broadcast" in error.message for error in found)


def test_a_group_of_another_size_is_refused(three: list[Any]) -> None:
    def build(size: int) -> Build:
        return lambda _: collective_ops.all_reduce(tf.zeros([2]), size, 23, 23, "Add", "Id")

    together(three, build(COUNT))
    for error in errors_of(begin(three, build(COUNT + 1))):
        assert isinstance(error, tf.errors.InternalError)
        assert "is for a group of 4 devices, but the group has 3" in error.message


@pytest.mark.parametrize("merge_op", ["Min", "Max"])
def test_only_sums_and_products_have_kernels(three: list[Any], merge_op: str) -> None:
    def build(_: int) -> Any:
        return collective_ops.all_reduce(tf.zeros([2]), COUNT, 1, 24, merge_op, "Id")

    for error in errors_of(begin(three, build)):
        assert isinstance(error, tf.errors.InvalidArgumentError)
        assert f'merge_op must be one of {{"Add", "Mul"}} but got {merge_op}' in error.message


def test_a_step_that_fails_on_one_task_ends_everywhere_with_its_error(three: list[Any]) -> None:
    def work(task: int) -> Any:
        with tf.Graph().as_default(), tf.device(f"{task_of(task)}/device:CPU:0"):
            dataset = tf.data.Dataset.range(2 + (task != 1)).batch(1)
            rows = dataset.make_one_shot_iterator().get_next()
            total = collective_ops.all_reduce(rows, COUNT, 1, 25, "Add", "Id")
            with session(three[task], task) as run:
                sums = [run.run(total).tolist() for _ in range(2)]
                with pytest.raises(tf.errors.OutOfRangeError) as end:
                    run.run(total)
            return sums, end.value.message

    found = [Background(lambda task=task: work(task)) for task in range(COUNT)]
    for task, each in enumerate(found):
        sums, message = each.join()
        assert sums == [[0], [3]]
        assert "End of sequence" in message
        assert ("failed on /job:worker/replica:0/task:1" in message) == (task != 1)


def test_two_runs_of_an_instance_at_the_same_time_are_refused(three: list[Any]) -> None:
    def sums(nodes: int) -> Build:
        return lambda task: [ones(27)(task) for _ in range(nodes)]

    together(three, sums(1))
    # If another task failed between the beginnings of the two steps, the second step would have
    # another number, and wait for the other tasks.
    found = errors_of(begin(three, sums(1), [1]) + begin(three, sums(1), [1]))
    found += errors_of(begin(three, sums(2), [0]))
    assert {type(error) for error in found} == {tf.errors.InvalidArgumentError}
    assert all("run collective instance 27 of group 1 on" in error.message for error in found)


def test_a_partial_run_may_have_collective_operations(three: list[Any]) -> None:
    def work(task: int) -> Any:
        with tf.Graph().as_default(), tf.device(f"{task_of(task)}/device:CPU:0"):
            fed, later = (tf.placeholder(tf.float32, [1]) for _ in range(2))
            total = collective_ops.all_reduce(fed + 1.0, COUNT, 1, 28, "Add", "Id")
            both = total + later
            with session(three[task], task) as run:
                found = []
                for _ in range(2):
                    handle = run.partial_run_setup([total, both], [fed, later])
                    first = run.partial_run(handle, total, {fed: [task]})
                    found += [first, run.partial_run(handle, both, {later: first})]
                return [float(each[0]) for each in found]

    begun = [Background(lambda task=task: work(task)) for task in range(COUNT)]
    assert [each.join() for each in begun] == [[6.0, 12.0] * 2] * COUNT


class Answers:
    """A link that keeps the frames that a task sends."""

    def __init__(self) -> None:
        self._frames: queue.SimpleQueue[api.Frame] = queue.SimpleQueue()
        self.send = self._frames.put

    def code(self) -> int:
        """Wait for an answer, and return the code of its error."""
        return self._frames.get().subject


class Leader:
    """Knows the number of the steps of all graphs."""

    number = 7

    def get_step_sequence(self, *_: Any) -> int:
        return self.number


def test_a_request_with_an_old_number_is_refused_and_one_with_a_new_number_ends_the_old() -> None:
    leader: Any = Leader()
    task = collectives.Collectives(
        "me", lambda: leader, lambda *_: None, clusters.spec, targets.NoLinks()
    )

    def ask(step: int, name: str) -> Answers:
        answers = Answers()
        link: Any = answers
        task.serve(api.Frame(api.Kind.RECV_BUF, step, 0, (api.text(name),)), link)
        return answers

    early, of_others = ask(5, "9:1:1:0:all:0"), ask(4, "8:1:1:0:all:0")
    epoch = task._epoch(collective_steps.Run(9))
    assert early.code() == errors.ABORTED
    assert ask(6, "9:1:1:0:all:0").code() == errors.ABORTED
    leader.number = 8
    ask(8, "9:1:1:0:all:0")
    assert ask(7, "9:1:1:0:all:0").code() == errors.ABORTED
    assert isinstance(epoch.error, errors.AbortedError)
    task.close()
    assert of_others.code() == errors.UNAVAILABLE


def test_all_operations_of_a_run_get_the_error_of_a_step_that_their_task_has_missed() -> None:
    missed = errors.InvalidArgumentError(None, None, "Shape mismatch in the step before")

    class Telling(Leader):
        answers: ClassVar[list[Any]] = [missed, 7, 7]

        def get_step_sequence(self, *_: Any) -> int:
            answer = self.answers.pop(0)
            if answer is missed:
                raise answer
            return int(answer)

    leader: Any = Telling()
    task = collectives.Collectives(
        "me", lambda: leader, lambda *_: None, clusters.spec, targets.NoLinks()
    )
    run = collective_steps.Run(9)
    asked = [Background(lambda: task._epoch(run)) for _ in range(2)]
    assert errors_of(asked) == [missed, missed]
    assert task._epoch(collective_steps.Run(9)).number == 7
    task.close()


def test_the_leader_says_who_waits_for_whom(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_leader, "_COMPLAIN_SECONDS", 0.01)

    def build(task: int, key: int) -> Any:
        if task == 0:
            return collective_ops.broadcast_send(tf.ones([1]), [1], tf.float32, 2, 1, key)
        return collective_ops.broadcast_recv([1], tf.float32, 2, 1, key)

    with workers(2) as servers:
        for key, missing in (1, "group 1 still wait for"), (2, "instance 2 of group 1 still waits"):
            caplog.clear()
            begun = begin(servers, functools.partial(build, key=key), [0])
            until(lambda missing=missing: missing in caplog.text)
            assert f"1 of 2 devices. Those that have come are: {LEADER}/device:CPU:0" in caplog.text
            for each in begun + begin(servers, functools.partial(build, key=key), [1]):
                assert each.join().tolist() == [1.0]


def test_a_step_that_is_over_does_not_wait_for_a_leader_that_is_gone() -> None:
    """Each step of a training whose leader stays away would leave a thread otherwise."""
    run = collective_steps.Run(9)
    with contextlib.closing(remote_worker.GrpcWorker(clusters.addresses(1)[0])) as away:
        task = collectives.Collectives(
            "me", lambda: away.leader, lambda *_: None, clusters.spec, targets.NoLinks()
        )
        waiting = Background(lambda: task._epoch(run))
        run.cancelled.cancel()
        with pytest.raises(errors.CancelledError, match="GetStepSequence was cancelled"):
            waiting.join()


def test_a_cancelled_step_ends_everywhere_and_the_next_step_runs(three: list[Any]) -> None:
    def build(task: int) -> Any:
        never = tf.FIFOQueue(1, [tf.float32], shapes=[[1]]).dequeue()
        here = never if task == 2 else tf.ones([1])
        return collective_ops.all_reduce(here, COUNT, 1, 26, "Add", "Id")

    together(three, ones(26))
    begun = begin(three, build, [0, 1])
    (late,) = begin(three, build, [2], options=tf.RunOptions(timeout_in_ms=2000))
    with pytest.raises(tf.errors.DeadlineExceededError):
        late.join()
    for error in errors_of(begun):
        assert isinstance(error, tf.errors.AbortedError)
    assert [each.tolist() for each in together(three, ones(26))] == [[3.0]] * COUNT
