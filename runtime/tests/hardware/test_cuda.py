"""GPUs by the real CuPy: without a GPU what the process says, and with one its memory."""

import gc
import logging
import threading
from typing import Any

import accelerated
import numpy as np
import pytest

import capstan as tf
from capstan.core import config, recording
from capstan.hardware import cuda, device

cupy = pytest.importorskip("cupy", reason=accelerated.WITHOUT_CUPY)
TASK = "/job:localhost/replica:0/task:0"
GROWING = config.GpuOptions(allow_growth=True)
on_a_gpu = pytest.mark.skipif(bool(cuda.missing()), reason=cuda.missing())
COUNTS = [1_000, 100_000, 1_000_000]
"""Numbers of 4 or 8 bytes. Each number is copied in another way."""
without_a_gpu = pytest.mark.skipif(not cuda.missing(), reason="this machine has a GPU")


@pytest.fixture(autouse=True)
def _decide_again() -> None:
    cuda.usable.cache_clear()


@without_a_gpu
def test_one_warning_names_the_missing_part(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "capstan"):
        assert cuda.create(TASK, None, GROWING) == cuda.create(TASK, None, GROWING) == []
    [warning] = caplog.messages
    assert warning == f"No GPU is used: {cuda.missing()}"


@without_a_gpu
def test_a_session_without_a_gpu_uses_the_cpu() -> None:
    assert not tf.test.is_gpu_available()
    assert tf.test.gpu_device_name() == ""
    assert tf.test.is_built_with_cuda()


def test_a_task_that_hides_its_gpus_says_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cuda.create(TASK, None, GROWING) == []
    assert not caplog.messages


@pytest.fixture
def gpu() -> Any:
    return cuda.create(TASK, 1, GROWING)[0]


@on_a_gpu
@pytest.mark.parametrize("shape", [(), (0,), (3, 4)])
def test_values_pass_through_the_memory_of_a_gpu(gpu: Any, shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    back = gpu.copy_out(gpu.duplicate(gpu.put(value)))
    gpu.stream.synchronize()
    np.testing.assert_array_equal(back, value)


@on_a_gpu
def test_too_large_an_array_is_refused_with_the_figures_of_the_pool(gpu: Any) -> None:
    gpu.use()
    held = gpu.allocate((gpu.memory_limit // 2,), np.uint8)
    for size in (gpu.memory_limit // 2 + 1024, gpu.memory_limit + 1, 1 << 62):
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"of its pool\. .*limit"):
            gpu.allocate((size, 4) if size > gpu.memory_limit else (size,), np.uint8)
    gpu.put(np.zeros(3))
    del held


@on_a_gpu
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_program_of_elementwise_functions_is_one_kernel(gpu: Any, dtype: Any) -> None:
    recorder = recording.Recorder(dtype)
    value, speed, rate = (recorder.input() for _ in range(3))
    np.add(np.multiply(speed, 0.5), np.tanh(value), speed)
    np.subtract(value, np.multiply(rate, speed), value)
    program = recorder.program([value, speed])
    arrays = [np.array([1, -2, np.nan], dtype), np.array([4, 0, 1], dtype), np.array(0.5, dtype)]
    on_gpu = [gpu.put(array) for array in arrays]
    gpu.compile(program)(on_gpu, on_gpu[:2])
    found = [gpu.copy_out(array) for array in on_gpu[:2]]
    gpu.stream.synchronize()
    for one, other in zip(found, program.run(arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=4 * np.finfo(dtype).eps)


def test_cupy_reports_a_matrix_without_a_result_only_in_a_checked_call() -> None:
    import cupyx

    unused = cuda.Cuda.__new__(cuda.Cuda)
    assert unused.checked(cupyx.geterr)["linalg"] == "raise"
    assert cupyx.geterr()["linalg"] == "ignore"


@on_a_gpu
@pytest.mark.parametrize("batch", [(), (2,)], ids=["matrix", "batch"])
@pytest.mark.parametrize("function", [np.linalg.cholesky, np.linalg.inv])
def test_a_checked_call_of_linear_algebra_gives_a_result_or_raises(
    gpu: Any, function: Any, batch: tuple[int, ...]
) -> None:
    gpu.use()
    good, bad = np.array([[4.0, 2], [2, 3]]), np.array([[1.0, 1], [1, 1]]) * -1
    for matrix in (good, bad):
        given = gpu.put(np.broadcast_to(matrix, (*batch, 2, 2)).copy())
        if matrix is bad:
            with pytest.raises(np.linalg.LinAlgError):
                gpu.checked(function, given)
        else:
            found = gpu.copy_out(gpu.checked(function, given))
            gpu.stream.synchronize()
            np.testing.assert_allclose(found, np.broadcast_to(function(good), found.shape))


@on_a_gpu
@pytest.mark.parametrize("count", COUNTS)
def test_arrays_of_the_host_may_change_once_they_are_copied(gpu: Any, count: int) -> None:
    value, arrays = np.zeros(count, np.float32), []
    for number in range(20):
        value[:] = number
        arrays.append(gpu.copy_in(value))
    gpu.use()
    totals = [gpu.copy_out(np.add(array, 1)) for array in arrays]
    gpu.stream.synchronize()
    assert [total.max() for total in totals] == [number + 1 for number in range(20)]
    assert [total.min() for total in totals] == [number + 1 for number in range(20)]


@on_a_gpu
@pytest.mark.parametrize("count", COUNTS)
def test_an_array_gets_the_elements_of_a_copy_after_the_computing_that_reads_it(
    gpu: Any, count: int
) -> None:
    gpu.use()
    place, total = gpu.put(np.zeros(count, np.int64)), gpu.put(np.zeros(count, np.int64))
    backwards = np.arange(count)[::-1]
    for _ in range(20):
        assert gpu.copy_in(backwards, place) is place
        np.add(total, place, total)
    found = gpu.copy_out(total)
    gpu.stream.synchronize()
    np.testing.assert_array_equal(found, backwards * 20)


@on_a_gpu
@pytest.mark.parametrize("count", COUNTS)
def test_memory_of_copies_is_used_again_after_the_computing_that_reads_it(
    gpu: Any, count: int
) -> None:
    gpu.use()
    total = gpu.put(np.zeros(count, np.float32))
    for number in range(100):
        # The array is garbage as soon as the addition has been given to the GPU.
        np.add(total, gpu.copy_in(np.full(count, number, np.float32)), total)
    found = gpu.copy_out(total)
    gpu.stream.synchronize()
    assert set(found.tolist()) == {4950.0}


@on_a_gpu
@pytest.mark.parametrize("start", [0, 1], ids=["aligned", "not aligned"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_program_of_long_vectors_gives_the_values_of_numpy(
    gpu: Any, dtype: Any, start: int
) -> None:
    gpu.use()
    recorder = recording.Recorder(dtype)
    vector, other, rate = (recorder.input() for _ in range(3))
    total = vector + other * np.sqrt(rate)
    program = recorder.program([total, total > 3.0])
    values = np.linspace(-5, 5, 1 << 17).astype(dtype)
    inputs = [values, values[::-1].copy(), np.array(2.0, dtype)]
    whole = [gpu.put(np.concatenate([value[:1]] * start + [value])) for value in inputs[:2]]
    given = [array[start:] for array in whole]
    compute = gpu.compile(program)
    found = compute([*given, gpu.put(inputs[2])])
    # A result may take the place of an input.
    compute([*given, gpu.put(inputs[2])], [given[0], gpu.arrays.empty(len(values), bool)])
    results = [gpu.copy_out(array) for array in (*found, given[0])]
    gpu.stream.synchronize()
    expected = program.run(inputs)
    np.testing.assert_allclose(results[0], expected[0], rtol=4 * np.finfo(dtype).eps, atol=1e-2)
    far = np.abs(results[0] - 3.0) > 0.1  # Half-precision results are rounded afterwards.
    np.testing.assert_array_equal(results[1][far], results[0][far] > 3.0)
    np.testing.assert_array_equal(results[2], results[0])


@on_a_gpu
def test_a_gpu_that_is_garbage_gives_the_memory_of_its_copies_and_recordings_back() -> None:
    pool = cupy.get_default_memory_pool()
    used = []
    for _ in range(3):
        gpu = cuda.create(TASK, 1, GROWING)[0]
        gpu.use()
        value = gpu.put(np.ones(1 << 20, np.float32))
        results, launch = gpu.record(lambda value=value: [np.add(np.tanh(value), 1)])
        launch()
        gpu.stream.synchronize()
        del gpu, value, results, launch
        gc.collect()
        used.append(pool.used_bytes())
    # The first round also frees what earlier tests left.
    assert used[1] == used[2]


@on_a_gpu
def test_then_is_called_after_the_copies_to_the_host(gpu: Any) -> None:
    gpu.use()
    ended = threading.Event()
    found = gpu.copy_out(np.multiply(gpu.put(np.ones(1 << 20, np.float32)), 3))
    seen = []

    def passed(error: Any) -> None:
        seen.extend((error, found.min(), found.max()))
        ended.set()

    gpu.stream.then(passed)
    assert ended.wait(50)
    assert seen == [None, 3.0, 3.0]


@on_a_gpu
def test_recorded_work_runs_again_with_the_present_elements(gpu: Any) -> None:
    gpu.use()
    value, product = gpu.put(np.arange(12.0).reshape(3, 4)), gpu.allocate((3, 3), np.float64)

    def work() -> Any:
        return [gpu.matmul(np.tanh(value), value.T, product), np.sum(value, 0)]

    work()
    results, launch = gpu.record(work)
    for number in range(3):
        gpu.copy(gpu.put(np.full((3, 4), float(number))), value)
        launch()
        found = [gpu.copy_out(result) for result in (*results, product)]
        gpu.stream.synchronize()
        np.testing.assert_allclose(found[0], np.full((3, 3), 4 * number * np.tanh(number)))
        np.testing.assert_array_equal(found[2], found[0])
        assert found[1].tolist() == [3.0 * number] * 4


@on_a_gpu
@pytest.mark.parametrize("call", ["copy_in", "copy_out", "wait", "item"])
def test_work_that_needs_the_host_is_not_recorded(gpu: Any, call: str) -> None:
    gpu.use()
    value = gpu.put(np.ones(3))
    calls = {
        "copy_in": lambda: gpu.copy_in(np.ones(3)),
        "copy_out": lambda: gpu.copy_out(value),
        "wait": gpu.stream.synchronize,
        "item": lambda: float(np.sum(value)),
    }
    with pytest.raises(device.NotRepeatable):
        gpu.record(lambda: [np.add(value, 1), calls[call]()])
    after = gpu.copy_out(np.add(value, 1))
    gpu.stream.synchronize()
    assert after.tolist() == [2.0] * 3


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (4, 5)),
    ((1, 4), (4, 1)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((1, 3, 4), (4, 5)),
    ((3, 0), (0, 2)),
    ((0, 3), (3, 2)),
]


@on_a_gpu
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("turned", ["", "left", "right", "both"])
def test_recorded_products_are_those_of_numpy(
    gpu: Any, dtype: Any, shapes: Any, turned: str
) -> None:
    gpu.use()
    random = np.random.default_rng(0)
    left, right = (random.integers(-3, 4, shape).astype(dtype) for shape in shapes)
    given = []
    for value, is_turned in (
        (left, turned in ("left", "both")),
        (right, turned in ("right", "both")),
    ):
        array = gpu.put(np.ascontiguousarray(value.swapaxes(-1, -2)) if is_turned else value)
        given.append(array.swapaxes(-1, -2) if is_turned else array)
    expected = np.matmul(left, right)
    target, several = (
        gpu.allocate(shape, dtype) for shape in (expected.shape, (3, *expected.shape))
    )
    for out in (None, target, several[1]):
        (result,), launch = gpu.record(lambda out=out: [gpu.matmul(*given, out)])
        launch()
        found = gpu.copy_out(result)
        gpu.stream.synchronize()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.e2e
@on_a_gpu
def test_recorded_steps_with_convolutions_give_the_values_of_a_cpu() -> None:
    random = np.random.default_rng(0)
    filters = random.normal(size=(3, 3, 2, 16)).astype(np.float32)
    weights = random.normal(size=(16, 4)).astype(np.float32)
    with tf.Graph().as_default():
        x, labels = tf.placeholder(tf.float32, [8, 9, 9, 2]), tf.placeholder(tf.int64, [8])
        values = []
        for place in ("/gpu:0", "/cpu:0"):
            with tf.device(place):
                hidden = tf.nn.conv2d(x, tf.Variable(filters), [1, 1, 1, 1], "SAME")
                pooled = tf.nn.max_pool(tf.nn.relu(hidden), [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
                logits = tf.matmul(tf.reduce_mean(pooled, [1, 2]), tf.Variable(weights))
                loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
                values.append((loss, tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)))
        with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))) as s:
            s.run(tf.global_variables_initializer())
            for _ in range(15):
                batch = {x: random.normal(size=(8, 9, 9, 2)), labels: random.integers(0, 4, 8)}
                (found, _), (expected, _) = s.run(values, batch)
                np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.e2e
@pytest.mark.timeout(300)
@on_a_gpu
def test_the_memory_of_a_gpu_does_not_grow_in_ten_thousand_steps() -> None:
    pool = cupy.get_default_memory_pool()
    x, labels = np.ones((16, 8), np.float32), np.arange(16) % 4
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        batch = tf.placeholder(tf.float32, [None, 8])
        hidden = tf.layers.dropout(tf.layers.dense(batch, 32, tf.nn.relu), training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(hidden, 4))
        train = tf.train.AdamOptimizer().minimize(loss)
        settings = tf.ConfigProto(
            allow_soft_placement=True, gpu_options=tf.GPUOptions(allow_growth=True)
        )
        with tf.Session(config=settings) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(100):
                session.run([loss, train], {batch: x})
            before = pool.total_bytes()
            for _ in range(10_000):
                session.run([loss, train], {batch: x})
            assert pool.total_bytes() == before
