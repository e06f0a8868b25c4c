"""Steps on a device whose arrays are not NumPy arrays, with memory and a stream of its own."""

from collections.abc import Iterator
from typing import Any

import clusters
import control_flow_programs
import numpy as np
import pytest
import strict

import capstan as tf
from capstan.executor import program
from capstan.framework.raw import raw
from capstan.hardware import cpu, device
from capstan.kernels import registry

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    tf.reset_default_graph()
    with strict.installed(2):
        yield


@pytest.fixture
def servers() -> Iterator[dict[str, Any]]:
    with clusters.running(ps=1, worker=2) as started:
        yield started


def regression(variables: str, work: str, optimizer: Any) -> tuple[Any, Any, Any]:
    """Build a model of two layers. Return the loss, the training operation and the weights."""
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    labels = np.eye(2, dtype=np.float32)[np.arange(8) % 2]
    with tf.device(variables):
        first = tf.Variable(np.full((3, 4), 0.1, np.float32) * np.arange(4, dtype=np.float32))
        second = tf.Variable(np.full((4, 2), 0.2, np.float32) * np.array([1, -1], np.float32))
        bias = tf.Variable(np.zeros(2, np.float32))
    with tf.device(work):
        hidden = tf.nn.relu(tf.matmul(tf.constant(x), first))
        logits = tf.nn.bias_add(tf.matmul(tf.tanh(hidden), second), bias)
        losses = tf.nn.softmax_cross_entropy_with_logits(labels=tf.constant(labels), logits=logits)
        loss = tf.reduce_mean(losses)
    return loss, optimizer.minimize(loss), [first, second, bias]


def trained(variables: str, work: str, optimizer: Any, target: str = "") -> tuple[list[Any], Any]:
    """Return the losses of five steps, and the weights after them."""
    tf.reset_default_graph()
    loss, train, weights = regression(variables, work, optimizer())
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train])[0] for _ in range(5)]
        return losses, session.run(weights)


OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.5),
    "momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
}


def assert_same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.e2e
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(
    ("variables", "work"),
    [("/gpu:0", "/gpu:0"), ("/cpu:0", "/gpu:0"), ("/gpu:0", "/cpu:0"), ("/gpu:0", "/gpu:1")],
)
def test_training_gives_the_same_values_on_any_devices(
    name: str, variables: str, work: str
) -> None:
    expected = trained("/cpu:0", "/cpu:0", OPTIMIZERS[name])
    assert_same(trained(variables, work, OPTIMIZERS[name]), expected)


@pytest.mark.e2e
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_over_tasks_gives_the_same_values_on_any_devices(
    servers: dict[str, Any], name: str
) -> None:
    expected = trained("/cpu:0", "/cpu:0", OPTIMIZERS[name])
    for variables, work in (
        ("/job:ps/gpu:0", "/job:worker/task:0/gpu:1"),
        ("/job:ps/gpu:1", "/job:worker/task:1/cpu:0"),
        ("/job:ps/cpu:0", "/job:worker/task:1/gpu:0"),
    ):
        found = trained(variables, work, OPTIMIZERS[name], servers["worker:0"].target)
        assert_same(found, expected)


def test_a_tensor_is_copied_once_to_each_memory_that_reads_it() -> None:
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [3])
    with tf.device("/gpu:0"):
        y = tf.square(x)
        near = y + x
    with tf.device("/gpu:1"):
        far = y * x
    with tf.device("/cpu:0"):
        here = tf.reduce_sum(y)
    with tf.Session() as session:
        found = session.run([y, near, far, here, tf.shape(y)], {x: [1.0, 2.0, 3.0]})
    assert [np.asarray(value).tolist() for value in found] == [
        [1.0, 4.0, 9.0],
        [2.0, 6.0, 12.0],
        [1.0, 8.0, 27.0],
        14.0,
        [3],
    ]


def test_a_feed_that_changes_after_the_step_does_not_change_the_assigned_value() -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [4])
        v = tf.Variable(np.zeros(4, np.float32))
        assign = v.assign(x)
    with tf.Session() as session:
        fed = np.ones(4, np.float32)
        session.run(assign.op, {x: fed})
        fed[:] = 7
        assert session.run(v).tolist() == [1.0] * 4


@pytest.mark.e2e
def test_equal_names_on_two_devices_are_two_variables() -> None:
    cells = []
    for index in (0, 1):
        with tf.Graph().as_default() as graph, tf.device(f"/gpu:{index}"):
            v = tf.Variable(float(index), name="v")
            cells.append((graph, v))
    server = tf.train.Server.create_local_server()
    try:
        sessions = [tf.Session(server.target, graph=graph) for graph, _ in cells]
        for session, (_, v) in zip(sessions, cells, strict=True):
            session.run(v.initializer)
        values = [session.run(v) for session, (_, v) in zip(sessions, cells, strict=True)]
    finally:
        server.stop()
    assert values == [0.0, 1.0]


def test_a_read_on_another_device_gives_the_value_after_the_change_that_it_waits_for() -> None:
    with tf.device("/gpu:0"):
        n = tf.Variable(0.0)
    with tf.device("/cpu:0"), tf.control_dependencies([n.assign_add(1.0)]):
        read = tf.identity(n)
    with tf.Session() as session:
        session.run(n.initializer)
        assert [session.run(read) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_fetched_value_is_from_before_the_change_that_waits_for_it() -> None:
    kind = {"dtype": tf.float32}
    with tf.device("/gpu:0"):
        n = raw.VarHandleOp(shape=[2], shared_name="n", **kind)
        start = raw.AssignVariableOp(n, [1.0, 2.0], **kind)
        before = raw.ReadVariableOp(n, **kind)
        with tf.control_dependencies([before]):
            change = raw.AssignAddVariableOp(n, [10.0, 10.0], **kind)
    with tf.Session() as session:
        session.run(start)
        assert session.run([before, change])[0].tolist() == [1.0, 2.0]
        assert session.run(before).tolist() == [11.0, 12.0]


def test_branches_are_copied_only_when_they_are_taken() -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 0, lambda: x * 2.0, lambda: -x)
    with tf.device("/cpu:0"):
        z = y + 1.0
    with tf.Session() as session:
        assert [session.run(z, {x: value}) for value in (3.0, -4.0)] == [7.0, 5.0]


def looped(device: str) -> Any:
    """Return the value of a loop that reads a variable, and the gradient of the variable."""
    with tf.Graph().as_default(), tf.device(device):
        weights = tf.Variable(np.array([[0.5, 1.0], [-1.0, 0.25]], np.float32))
        x = tf.ones([2, 2]) * 2.0
        _, y = tf.while_loop(
            lambda i, _: i < 3, lambda i, x: (i + 1, tf.matmul(x, weights)), [tf.constant(0), x]
        )
        gradients = tf.gradients(tf.reduce_sum(y), [weights.value()])
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(weights.initializer)
            return session.run([y, *gradients])


@pytest.mark.e2e
def test_a_loop_and_its_gradient_give_the_same_values_on_any_device() -> None:
    for found, expected in zip(looped("/gpu:1"), looped("/cpu:0"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_integers_stay_on_the_cpu_beside_a_gpu() -> None:
    with tf.device("/gpu:0"):
        v = tf.Variable(1, name="count")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(v.initializer)
        assert session.run(v) == 1
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"Cannot assign a device for operation 'count': Could not satisfy explicit "
            r"device specification '/device:GPU:0' because no supported kernel for GPU devices is",
        ) as raised,
    ):
        session.run(v.initializer)
    assert "Colocation group had the following types and devices: \n" in raised.value.message
    assert "\nVariableV2: CPU \n" in raised.value.message


def test_a_kernel_that_takes_its_values_for_numpy_arrays_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = registry.Kernel("Ceil", lambda node: lambda x: np.ceil(np.asarray(x)), device="GPU")
    monkeypatch.setitem(registry._ROWS["Ceil"], "GPU", [kernel])
    registry.listed.cache_clear()
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [1])
        rounded = tf.ceil(x)
    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="Implicit conversion"):
        session.run(rounded, {x: [1.5]})
    registry.listed.cache_clear()


def test_a_strict_array_refuses_every_way_to_its_memory() -> None:
    home = strict.Strict("/device:GPU:0")
    value = home.copy_in(np.ones(3, np.float32))
    for misuse in (
        lambda: np.asarray(value),
        lambda: np.add(value, np.ones(3, np.float32)),
        lambda: memoryview(value),
        lambda: value.tobytes(),
        lambda: np.add(value, 1, np.empty(3, np.float32)),
        lambda: np.ones(3, np.float32)[value],
    ):
        with pytest.raises((TypeError, IndexError)):
            misuse()


def test_a_strict_device_refuses_the_linear_algebra_that_cupy_refuses_or_does_not_check() -> None:
    home = strict.Strict("/device:GPU:0")
    matrix, singular = home.put(np.eye(3)), home.put(np.zeros((3, 3)))
    batch, nothing = home.put(np.ones((2, 3, 1))), home.put(np.ones((3, 0)))
    for misuse in (
        lambda: np.linalg.inv(matrix),
        lambda: home.checked(np.linalg.inv, singular),
        lambda: home.checked(np.linalg.solve, matrix, batch),
        lambda: home.checked(np.linalg.solve, matrix, nothing),
        lambda: home.checked(np.linalg.cholesky, matrix, upper=True),
        lambda: home.checked(np.linalg.eigh, matrix, "l"),
        lambda: home.checked(np.linalg.qr, matrix, "economic"),
        lambda: np.searchsorted(home.put(np.ones(2, np.float32)), home.put(np.ones(2, np.int64))),
        lambda: home.record(lambda: np.linalg.det(matrix)),
        lambda: home.record(lambda: home.checked(np.linalg.inv, matrix)),
    ):
        with pytest.raises((TypeError, ValueError, ArithmeticError, device.NotRepeatable)):
            misuse()
    assert home.checked(np.linalg.inv, matrix).get().tolist() == np.eye(3).tolist()
    assert np.linalg.det(singular).get() == 0


def test_the_stream_is_late() -> None:
    home = strict.Strict("/device:GPU:0")
    value = home.copy_in(np.ones(3, np.float32))
    found = home.copy_out(value + value)
    assert not np.array_equal(found, [2.0] * 3)
    home.stream.synchronize()
    assert found.tolist() == [2.0] * 3


def test_a_device_that_has_too_little_memory_ends_the_step() -> None:
    with tf.device("/gpu:0"):
        big = tf.ones([1 << 29]) + tf.placeholder(tf.float32, [])
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError):
        session.run(tf.reduce_sum(big), {big.op.inputs[1]: 1.0})


def test_the_devices_of_a_task_can_be_limited() -> None:
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 1, "CPU": 2})) as session:
        kinds = [device.name.rpartition("/")[2] for device in session.list_devices()]
    assert kinds == ["device:CPU:0", "device:CPU:1", "device:GPU:0"]
    assert isinstance(cpu.create("/job:w/replica:0/task:0", 1)[0], cpu.Cpu)


@pytest.mark.e2e
def test_a_branch_reads_a_resource_variable_of_the_device() -> None:
    with tf.device("/gpu:0"):
        x = tf.Variable([1.0, 2.0], use_resource=True)
        yes = tf.placeholder(tf.bool, [])
        y = tf.cond(yes, lambda: x * x, lambda: tf.ones([2]))
        gradient = tf.gradients(y, [x])[0]
    with tf.Session() as session:
        session.run(x.initializer)
        assert x.device == "/device:GPU:0"
        for side, expected in ((True, [[1, 4], [2, 4]]), (False, [[1, 1], [0, 0]])):
            np.testing.assert_array_equal(session.run([y, gradient], {yes: side}), expected)


@pytest.mark.e2e
@pytest.mark.parametrize(
    "name",
    [
        "several variables", "invariant gradient", "nested with unknown shape",
        "nested conds in loop", "loop in cond", "maximum iterations", "gradient inside loop",
        "switch cases", "arrays", "array methods", "scanning", "arrays in cond",
    ],
)  # fmt: skip
def test_a_loop_on_a_device_has_its_stacks_and_arrays_there(name: str) -> None:
    def values(device: str) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.device(device):
                fetches = control_flow_programs.PROGRAMS[name](tf)
            return session.run(fetches)

    for found, expected in zip(values("/gpu:0"), values("/cpu:0"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.e2e
def test_an_element_that_was_not_written_is_zeros_on_the_device_of_its_array() -> None:
    with tf.device("/gpu:0"):
        array = tf.TensorArray(tf.float32, 3, element_shape=[2], clear_after_read=False)
        array = array.write(1, tf.constant([1.0, 2.0]))
        fetches = [array.read(0) + 1.0, array.stack() * 2.0]
    with tf.Session() as session:
        one, all_elements = session.run(fetches)
    np.testing.assert_array_equal(one, [1.0, 1.0])
    np.testing.assert_array_equal(all_elements, [[0, 0], [2, 4], [0, 0]])


def test_a_loss_of_batches_of_any_size_is_one_segment_of_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gradient of the loss reads a size, which waits for the device until it is folded."""
    made: list[program.Program] = []
    make = program.Program.__init__

    def noted(self: program.Program, *arguments: Any) -> None:
        made.append(self)
        make(self, *arguments)

    monkeypatch.setattr(program.Program, "__init__", noted)
    with tf.device("/gpu:0"):
        x, labels = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
        loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(x, 4))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made.clear()
        session.run([train, loss], {x: np.ones((5, 3)), labels: np.zeros(5)})
    (step,) = made
    assert len(step.layout.keys) == 1
