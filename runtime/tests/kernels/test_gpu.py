"""The kernels of GPUs give the values of the CPU's kernels, on a device that is no NumPy.

The device is simulated. In `make gpu`, it is the GPU of this machine.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import accelerated
import comparison
import examples
import gpu_examples
import numpy as np
import op_cases
import oracle_scenarios
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.core import dtypes, recording, tensor_shape
from capstan.framework import opdef
from capstan.framework.raw import raw
from capstan.hardware import device
from capstan.kernels import registry

OPS = sorted(op for op in op_cases.CASES if registry.rows(op, "GPU"))
USUAL = (dtypes.float32, dtypes.int32, dtypes.int64)
TOLERANCE = {"bfloat16": 1e-2, "float16": 1e-2}


def usual(op: str) -> dtypes.DType:
    """Return the first of the usual types that the kernel serves."""
    return next(dtype for dtype in USUAL if registry.find(op, "GPU", {"T": dtype}) is not None)


def other_types(op: str) -> list[dtypes.DType]:
    """Return all types of numbers that the kernels of `op` serve, apart from the usual one."""
    found = {
        dtype
        for row in registry.rows(op, "GPU")
        for attribute in ("T", "SrcT", "Tparams")
        for dtype in row.types.get(attribute, ())
        if dtype in opdef.lookup(op).types.get(attribute, dtypes.BASE_DTYPES)
    }
    left_out = {usual(op), dtypes.resource, dtypes.variant}
    return [dtype for dtype in dtypes.BASE_DTYPES if dtype in found - left_out]


def takes_bfloat16(op: str) -> bool:
    row, attrs = opdef.lookup(op), {"T": dtypes.bfloat16}
    takes_any = "T" in {each.type for each in row.input_arguments}
    return takes_any and registry.find(op, "GPU", attrs) is not None


@pytest.fixture(scope="module", autouse=True)
def _device() -> Iterator[None]:
    with accelerated.gpu():
        yield


@pytest.mark.e2e
@pytest.mark.parametrize("op", OPS)
@settings(max_examples=examples.share(3), deadline=None)
@given(data=st.data())
def test_a_kernel_of_a_gpu_gives_the_values_of_the_kernel_of_the_cpu(op: str, data: Any) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), usual(op)))
    check_equal(op, case.inputs, case.attrs)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        pytest.param(op, dtype, id=f"{op} of {dtype.name}")
        for op in OPS
        for dtype in other_types(op)
    ],
)
@settings(max_examples=1, deadline=None)
@given(data=st.data())
def test_a_kernel_of_a_gpu_gives_the_values_of_the_kernel_of_the_cpu_for_each_type(
    op: str, dtype: dtypes.DType, data: Any
) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtype))
    check_equal(op, case.inputs, case.attrs)


@pytest.mark.e2e
@pytest.mark.parametrize("op", [op for op in OPS if takes_bfloat16(op)])
@settings(max_examples=examples.share(3), deadline=None)
@given(data=st.data())
def test_a_kernel_of_a_gpu_gives_the_values_of_the_cpu_for_bfloat16(op: str, data: Any) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtypes.bfloat16))
    check_equal(op, case.inputs, case.attrs)


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_buckets_of_each_type_are_those_of_the_cpu(dtype: Any) -> None:
    """Some boundaries are no integers, and float32 cannot tell 16777217 from the last one."""
    values = [-3, 4, 5, 16777216, 16777217, 0.1, np.float32(0.1)]
    values += [np.nan, np.inf] if np.dtype(dtype).kind == "f" else []
    boundaries = [-3.0, 0.1, 4.5, 16777216.0]
    check_equal("Bucketize", [np.array(values).astype(dtype)], {"boundaries": boundaries})
    check_equal("Bucketize", [np.array(7, dtype)], {"boundaries": []})


@pytest.mark.e2e
@pytest.mark.parametrize(
    "function",
    [
        tf.cholesky, tf.matrix_inverse, tf.matrix_determinant, tf.qr, tf.svd, tf.self_adjoint_eig,
        tf.linalg.slogdet, tf.self_adjoint_eigvals, lambda x: tf.svd(x, compute_uv=False),
        lambda x: tf.matrix_solve(x, x + 1), lambda x: tf.matrix_triangular_solve(x, x + 1),
    ],
)  # fmt: skip
def test_gradients_of_linear_algebra_run_on_a_gpu(function: Any) -> None:
    factors = np.random.default_rng(2).normal(size=(2, 3, 3))
    value = factors @ factors.swapaxes(1, 2) + np.eye(3)
    results = []
    for place in ("/gpu:0", "/cpu:0"):
        with tf.Graph().as_default(), tf.Session() as session, tf.device(place):
            x = tf.placeholder(tf.float64, value.shape)
            outputs = [tf.sin(each) for each in tf.nest.flatten(function(x))]
            results.append(session.run(tf.gradients(outputs, x), {x: value}))
    found, expected = results
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def repeating(op: str) -> list[dtypes.DType]:
    """Return the types with which a device can repeat an op."""
    found = []
    for dtype in (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.int32):
        attrs = dict.fromkeys(("T", "Ta", "Tb", "Tout"), dtype)
        kernel = registry.find(op, "GPU", attrs)
        if kernel is not None and kernel.can_repeat(attrs):
            found.append(dtype)
    return found


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Record each call of a kernel that a device can repeat (`Kernel.repeats`), and do it once."""
    bind = registry.Kernel.bind

    def bound(kernel: registry.Kernel, node: registry.NodeContext) -> Callable[..., Any]:
        function, home = bind(kernel, node), node.hardware
        if not (kernel.can_repeat(node.attrs) and not home.is_host):
            return function

        def run(*inputs: Any) -> Any:
            try:
                results, launch = home.record(lambda: function(*inputs))
            except device.NotRepeatable as fault:
                # A chain of elementwise functions calls kernels without arrays.
                if isinstance(fault.__cause__, recording.Unrecordable):
                    raise fault.__cause__ from None
                raise
            launch()
            return results

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry.Kernel, "bind", bound)
        yield


@pytest.mark.e2e
@pytest.mark.parametrize("op", [op for op in OPS if repeating(op)])
@settings(max_examples=examples.share(3), deadline=None)
@given(data=st.data())
def test_a_kernel_that_a_device_repeats_needs_no_host(op: str, data: Any) -> None:
    dtype = data.draw(st.sampled_from(repeating(op)))
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtype))
    with recorded():
        check_equal(op, case.inputs, case.attrs)


@pytest.mark.e2e
@pytest.mark.parametrize("shape", [(2, 3), (0, 0)])
def test_a_gather_of_batches_that_a_device_repeats_needs_no_host(shape: tuple[int, int]) -> None:
    params = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    indices = np.zeros((shape[0], shape[1] and 2), np.int64)
    with recorded():
        check_equal("GatherV2", [params, indices, np.array(1, np.int32)], {"batch_dims": 1})


@pytest.mark.e2e
@pytest.mark.parametrize("count", [9, 65])
def test_a_device_joins_many_tensors_without_the_host(count: int) -> None:
    parts = [np.full((1, 2), number, np.float32) for number in range(count)]
    with recorded():
        for axis in (0, -1):
            check_equal("ConcatV2", [parts, np.array(axis, np.int32)], {})
        check_equal("ParallelConcat", [parts], {"shape": tensor_shape.TensorShape([count, 2])})


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("op", "call"),
    [
        pytest.param(op, call, id=f"{op} {name}")
        for op in gpu_examples.CALLS
        for name, call in (("called", contextlib.nullcontext), ("recorded", recorded))
        if call is not recorded or any(row.repeats for row in registry.rows(op, "GPU"))
    ],
)
def test_an_example_gives_the_same_values_on_both_devices(
    op: str, call: Callable[[], contextlib.AbstractContextManager[None]]
) -> None:
    draw = np.random.default_rng(1)
    inputs, attrs = gpu_examples.CALLS[op](lambda *shape: draw.normal(size=shape).astype("f"))
    with call():
        check_equal(op, inputs, attrs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize(
    "op", ["StatelessRandomNormal", "StatelessRandomUniform", "StatelessTruncatedNormal"]
)
def test_random_numbers_of_a_seed_are_those_of_the_cpu_for_each_type(op: str, dtype: str) -> None:
    for size in (0, 1, 7, 1000):
        inputs = [np.int32([size]), np.int64([5, 6])]
        check_equal(op, inputs, {"dtype": dtypes.as_dtype(dtype)})


def test_random_32_bit_integers_of_a_seed_are_those_of_the_cpu() -> None:
    seed = np.int64([5, 6])
    bounds = [np.int32(-(2**31)), np.int32(2**31 - 1)]
    check_equal("StatelessRandomUniformInt", [np.int32([9]), seed, *bounds], {})
    logits = np.float64([[0.5, 2, -1], [0, 0, 0]])
    attrs = {"output_dtype": dtypes.int32}
    check_equal("StatelessMultinomial", [logits, np.int32(7), seed], attrs)
    check_equal("StatelessMultinomial", [logits[:0], np.int32(7), seed], attrs)


@pytest.mark.parametrize("op", ["Gather", "GatherV2"])
def test_a_scalar_index_takes_one_element_of_a_vector(op: str) -> None:
    axis = [np.int32(0)] if op == "GatherV2" else []
    check_equal(op, [np.float32([3, 4]), np.int64(1), *axis], {})


@pytest.mark.parametrize("count", [2, 10_000])
def test_indices_of_a_gpu_mark_32_bit_integers_of_the_host(count: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.int64, [count])
        with tf.device("/gpu:0"):
            marks = tf.one_hot(fed + 1, 3, dtype=tf.int32)
        found = session.run(marks, {fed: np.arange(count) % 2})
    np.testing.assert_array_equal(found, np.eye(3, dtype=np.int32)[np.arange(count) % 2 + 1])


def check_equal(op: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Run a call of an op on the strict device and on the CPU, and compare the outputs."""
    feeds: dict[Any, Any] = {}

    def fed(value: Any) -> Any:
        placeholder = tf.placeholder(value.dtype, value.shape)
        feeds[placeholder] = value
        return placeholder

    with tf.Graph().as_default(), tf.Session() as session:
        arguments = [
            [fed(part) for part in value] if isinstance(value, list) else fed(value)
            for value in inputs
        ]
        outputs = []
        for device in ("/gpu:0", "/cpu:0"):
            with tf.device(device):
                outputs.append(getattr(raw, op)(*arguments, **attrs))
        found, expected = session.run(outputs, feeds)
    several = isinstance(expected, list | tuple)
    for one, other in zip(found, expected, strict=True) if several else [(found, expected)]:
        tolerance = TOLERANCE.get(other.dtype.name, 1e-5)
        comparison.close(one, other, tolerance, tolerance * magnitude(op, inputs, attrs))


def magnitude(op: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> float:
    """Return the largest sum of the absolute terms, if the devices add them in different orders."""
    if not op.startswith(("Depthwise", "Conv")):
        return 0.0
    absolute = [np.abs(value) if value.dtype.kind == "f" else value for value in inputs]
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/cpu:0"):
        return float(np.max(session.run(getattr(raw, op)(*absolute, **attrs)), initial=0))


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("name", oracle_scenarios.SCENARIOS)
def test_a_program_with_state_gives_the_same_results_on_both_devices(
    name: str, is_resource: bool
) -> None:
    """`tests/oracle` compares the results of the CPU with TensorFlow's."""
    scenario, _ = oracle_scenarios.SCENARIOS[name]
    results = []
    for count in ({"GPU": 0}, {"GPU": 1}):
        config = tf.ConfigProto(device_count=count)
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            steps = scenario(tf, np.random.default_rng(1), is_resource)
            results.append([session.run(step) for step in steps])
    for expected, found in zip(*map(tf.nest.flatten, results), strict=True):
        tolerance = TOLERANCE.get(np.asarray(expected).dtype.name, 1e-5)
        comparison.close(found, expected, tolerance, tolerance / 10)


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize(
    ("method", "factors"),
    [("scatter_mul", [1.0, 10, 6, 1, 210]), ("scatter_div", [1.0, 1 / 10, 1 / 6, 1, 1 / 210])],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_rows_of_a_variable_are_multiplied_and_divided_by_all_their_updates(
    dtype: Any, method: str, factors: list[float], is_resource: bool
) -> None:
    start = np.arange(10, dtype=dtype.as_numpy_dtype).reshape(5, 2) - 3
    updates = np.array(
        [[7, 1], [2, 1], [10, 1], [3, 1], [3, 1], [2, 1], [5, 1]], dtype.as_numpy_dtype
    )
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        table = tf.get_variable("table", initializer=start, use_resource=is_resource)
        indices = tf.placeholder(tf.int32, [None])
        values = tf.placeholder(dtype, [None, 2])
        changed = getattr(tf, method)(table, indices, values)
        session.run(tf.global_variables_initializer())
        session.run(changed, {indices: [], values: np.zeros((0, 2))})
        session.run(changed, {indices: [4, 2, 1, 4, 2, 4, 4], values: updates})
        found = session.run(table)
    expected = start * np.stack([factors, np.ones(5)], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.e2e
def test_a_staging_area_keeps_elements_in_the_memory_of_the_gpu() -> None:
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        value = tf.placeholder(tf.float32, [2])
        types = {"dtypes": [tf.float32, tf.int32], "shared_name": b"area"}
        put = raw.Stage([value * 2, tf.constant(5)], **types)
        peek = raw.StagePeek(tf.constant(0), **types)
        changed, size = peek[0] + 1, raw.StageSize(**types)
        get, clear = raw.Unstage(**types), raw.StageClear(**types)
        for fed in ([1, 2], [3, 4]):
            session.run(put, {value: fed})
        assert session.run(changed).tolist() == [3, 5]
        assert session.run(size) == 2
        first, second = session.run(get)
        assert (first.tolist(), second) == ([2, 4], 5)
        session.run(clear)
        assert session.run(size) == 0


@pytest.mark.e2e
@pytest.mark.parametrize("prefix", ["", "Ordered"])
def test_a_staging_map_keeps_elements_in_the_memory_of_the_gpu(prefix: str) -> None:
    types = {"dtypes": [tf.float32, tf.int32], "shared_name": b"area"}

    def area(method: str, *inputs: Any, **attrs: Any) -> Any:
        return getattr(raw, f"{prefix}Map{method}")(*inputs, **types, **attrs)

    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        key, half = tf.placeholder(tf.int64, []), tf.constant([1])
        value = tf.placeholder(tf.float32, [2])
        both = tf.constant([0, 1])
        put = area("Stage", key, both, [value * 2, tf.constant(5)], fake_dtypes=types["dtypes"])
        begin = area("Stage", key, half, [tf.constant(5)], fake_dtypes=[tf.int32])
        peek, get = area("Peek", key, both), area("Unstage", key, both)
        get_any, clear = area("UnstageNoKey", both), area("Clear")
        sizes = [area("Size"), area("IncompleteSize")]
        session.run(begin, {key: 9})
        for number in (1, 2):
            session.run(put, {key: number, value: [number, 3]})
        assert session.run(sizes) == [2, 1]
        assert session.run(peek[0] + 1, {key: 2}).tolist() == [5, 7]
        assert session.run(get, {key: 2})[0].tolist() == [4, 6]
        found, values = session.run(get_any)
        assert (found, values[0].tolist(), values[1]) == (1, [2, 6], 5)
        session.run(clear)
        assert session.run(sizes) == [0, 0]


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
def test_parts_of_a_variable_are_changed_by_index_and_by_slice(is_resource: bool) -> None:
    start = np.arange(6, dtype="f").reshape(3, 2)
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        table = tf.get_variable("table", initializer=start, use_resource=is_resource)
        session.run(tf.global_variables_initializer())
        indices, updates = tf.constant([[2, 0], [0, 1]]), tf.constant([10.0, 20])
        session.run(tf.scatter_nd_add(table, indices, updates))
        assert session.run(table).tolist() == [[0, 21], [2, 3], [14, 5]]
        session.run(tf.scatter_nd_sub(table, indices, updates))
        assert session.run(table).tolist() == start.tolist()
        session.run(tf.scatter_nd_update(table, indices, updates))
        assert session.run(table).tolist() == [[0, 20], [2, 3], [10, 5]]
        session.run(table[1:, 1].assign(updates))
        assert session.run(table).tolist() == [[0, 20], [2, 10], [10, 20]]


@pytest.mark.e2e
def test_a_gpu_gives_zeros_for_indices_out_of_range() -> None:
    """TensorFlow's kernels of GPUs do not wait for the indices, either."""
    table, indices = np.arange(1.0, 7.0).reshape(3, 2), np.array([2, -1, 0, 3])
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        variable = tf.get_variable("table", initializer=table, use_resource=True)
        place = tf.placeholder(tf.int64, [4])
        outputs = [
            tf.gather(table, place),
            variable.sparse_read(place),
            tf.gather(table.T, place, axis=1),
            tf.unsorted_segment_sum(tf.ones([4, 2]), place, 3),
        ]
        session.run(tf.global_variables_initializer())
        rows, of_variable, columns, sums = session.run(outputs, {place: indices})
    expected = np.array([[5.0, 6.0], [0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(of_variable, expected)
    np.testing.assert_array_equal(columns, expected.T)
    np.testing.assert_array_equal(sums, [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_segments_of_32_bit_integers_may_have_ids_of_a_gpu(dtype: Any) -> None:
    """Data and sums are in host memory, and 64-bit ids on the GPU."""
    ids, values = np.array([0, 2, 0, -1, 2], dtype), np.arange(10, dtype="i").reshape(5, 2)
    check_equal("UnsortedSegmentSum", [values, ids, np.array(3, "i")], {})


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_gradient_of_products_of_segments_is_that_of_the_cpu(dtype: Any) -> None:
    values, results = np.float32([2, 0, 3, 4, 0, 0]), []
    for place in ("/gpu:0", "/cpu:0"):
        with tf.Graph().as_default(), tf.Session() as session, tf.device(place):
            x, ids = tf.placeholder(tf.float32, [6]), tf.placeholder(dtype, [6])
            products = tf.unsorted_segment_prod(x, ids, 3)
            feeds = {x: values, ids: [0, 0, 1, 1, 2, 2]}
            results.append(session.run(tf.gradients(products, x), feeds))
    np.testing.assert_array_equal(*results)


@pytest.mark.e2e
def test_the_loss_of_a_label_that_is_no_class_is_nan_if_the_gpu_has_the_label() -> None:
    logits = np.float32([[1, 2, 3], [3, 2, 1], [0, 0, 0]])
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 3])
        long, short = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int32, [None])
        outputs = list(raw.SparseSoftmaxCrossEntropyWithLogits(x, long))
        found = session.run(outputs, {x: logits, long: [3, 2, -1]})
        expected = session.run(outputs, {x: logits, long: [0, 2, 0]})
        for value, other in zip(found, expected, strict=True):
            assert np.isnan(value[[0, 2]]).all()
            np.testing.assert_array_equal(value[1], other[1])
        outputs = list(raw.SparseSoftmaxCrossEntropyWithLogits(x, short))
        with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 3"):
            session.run(outputs, {x: logits, short: [3, 2, -1]})
