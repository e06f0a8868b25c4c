"""The calls of cuBLAS, which a function in Python answers over host memory."""

import contextlib
import ctypes
import functools
import sys
import threading
import types
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan import errors
from capstan.hardware import cuda_products

TYPES = {0: np.float32, 1: np.float64, 2: np.float16, 14: ml_dtypes.bfloat16}
"""NumPy's types by cudaDataType."""
SUMS = {68: ctypes.c_float, 70: ctypes.c_double}
"""The types of the factors of sums by cublasComputeType_t."""


class Array(np.ndarray[Any, Any]):
    """An array of NumPy that tells where its memory is, as CuPy's arrays do."""

    data = property(  # type: ignore[assignment]
        lambda self: types.SimpleNamespace(ptr=self.__array_interface__["data"][0])
    )


class Library:
    """cuBLAS, as its documentation describes it. Matrices are in column-major order."""

    def __init__(self) -> None:
        self.stream = 0

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        self.stream = stream.value
        return 0

    def cublasGemmStridedBatchedEx(
        self, handle: Any, turn_a: int, turn_b: int, m: int, n: int, k: int,
        alpha: Any, a: Any, a_type: int, lda: int, stride_a: Any,
        b: Any, b_type: int, ldb: int, stride_b: Any,
        beta: Any, c: Any, c_type: int, ldc: int, stride_c: Any,
        count: int, compute_type: int, algorithm: int,
    ) -> int:  # fmt: skip
        assert (handle.value, self.stream) == (5, 7)
        assert a_type == b_type == c_type
        assert min(m, n, k, count) > 0
        assert algorithm == -1
        for factor, value in ((alpha, 1), (beta, 0)):
            assert type(factor._obj) is SUMS[compute_type]
            assert factor._obj.value == value
        dtype = TYPES[a_type]
        left = _matrices(a, dtype, (k, m) if turn_a else (m, k), lda, stride_a, count)
        right = _matrices(b, dtype, (n, k) if turn_b else (k, n), ldb, stride_b, count)
        result = _matrices(c, dtype, (m, n), ldc, stride_c, count)
        result[...] = np.nan  # cuBLAS may write any element before it reads the factors.
        wide = np.float64 if compute_type == 70 else np.float32
        factors = (
            (each.swapaxes(1, 2) if is_turned else each).astype(wide)
            for each, is_turned in ((left, turn_a), (right, turn_b))
        )
        result[...] = np.matmul(*factors)
        return 0


def _matrices(
    pointer: Any, dtype: Any, shape: tuple[int, int], width: int, stride: Any, count: int
) -> Any:
    """Return a view of memory that holds matrices in column-major order."""
    rows, columns = shape
    assert width >= rows
    size = np.dtype(dtype).itemsize
    elements = stride.value * (count - 1) + width * (columns - 1) + rows
    memory = (ctypes.c_byte * (elements * size)).from_address(pointer.value)
    return np.lib.stride_tricks.as_strided(
        np.frombuffer(memory, dtype),
        (count, rows, columns),
        (stride.value * size, size, width * size),
    )


@pytest.fixture(scope="module")
def library() -> Any:
    made = Library()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_products, "_library", lambda: made)
        yield made


CUPY = types.SimpleNamespace(
    **{name: getattr(np, name) for name in ("copyto", "may_share_memory")},
    broadcast_to=functools.partial(np.broadcast_to, subok=True),
    empty=lambda shape, dtype: np.full(shape, np.nan, dtype).view(Array),
    ascontiguousarray=lambda array: np.ascontiguousarray(array).view(Array),
    cuda=types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        cublas=types.SimpleNamespace(create=lambda: 5),
        get_current_stream=lambda: types.SimpleNamespace(ptr=7),
    ),
)
"""The functions of CuPy that the products use."""

PRODUCTS = cuda_products.Products(CUPY, 0)


def laid_out(value: Any, layout: str) -> Any:
    """Return a view with these elements. Its memory is in another order, or has gaps."""
    if layout == "turned":
        return np.ascontiguousarray(value.swapaxes(-1, -2)).swapaxes(-1, -2).view(Array)
    if layout == "gaps":
        padded = np.full((*value.shape[:-1], 2 * value.shape[-1] + 1), np.nan, value.dtype)
        padded[..., 1::2] = value
        return padded[..., 1::2].view(Array)
    if layout == "reversed":
        return np.ascontiguousarray(value[..., ::-1])[..., ::-1].view(Array)
    return np.ascontiguousarray(value).view(Array)


def numbers(shape: Sequence[int], dtype: Any) -> Any:
    """Return small integers, whose sums of products are exact in all types."""
    return (np.arange(np.prod(shape, dtype=int)) * 7 % 11 - 5).reshape(shape).astype(dtype)


layouts = st.sampled_from(["plain", "turned", "gaps", "reversed"])
sizes = st.integers(0, 4)


@st.composite
def batches(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two shapes that broadcast."""
    whole = draw(st.lists(st.integers(0, 3), max_size=3))
    found = []
    for _ in range(2):
        kept = whole[draw(st.integers(0, len(whole))) :]
        found.append(tuple(1 if draw(st.booleans()) else size for size in kept))
    return found[0], found[1]


@settings(deadline=None)
@given(
    batches(), sizes, sizes, sizes, layouts, layouts,
    st.sampled_from([*TYPES.values()]),
    st.sampled_from(["", "plain", "turned", "gaps", "slice"]),
)  # fmt: skip
def test_a_product_is_that_of_numpy(
    library: Library, batch: Any, rows: int, inner: int, columns: int,
    left_layout: str, right_layout: str, dtype: Any, target: str,
) -> None:  # fmt: skip
    left = laid_out(numbers((*batch[0], rows, inner), dtype), left_layout)
    right = laid_out(numbers((*batch[1], inner, columns), dtype), right_layout)
    expected = np.matmul(np.asarray(left), np.asarray(right)).astype(dtype)
    nothing = np.full(expected.shape, np.nan, dtype)
    around = np.full((3, *expected.shape), np.nan, dtype)
    out = around[1].view(Array) if target == "slice" else laid_out(nothing, target)
    found = PRODUCTS.matmul(left, right, out if target else None)
    assert not target or found is out
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
    assert np.isnan(around[::2]).all()


def test_an_array_may_be_multiplied_into_itself(library: Library) -> None:
    value = laid_out(numbers((3, 3), np.float32), "plain")
    expected = np.matmul(np.asarray(value), np.asarray(value).T)
    assert PRODUCTS.matmul(value, value.T, value) is value
    np.testing.assert_array_equal(np.asarray(value), expected)


@pytest.mark.parametrize("layout", ["plain", "turned"])
def test_cublas_reads_matrices_and_batches_where_they_are(
    library: Library, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    multiply = library.cublasGemmStridedBatchedEx

    def noted(*arguments: Any) -> int:
        read.extend((arguments[7].value, arguments[11].value))
        return multiply(*arguments)

    monkeypatch.setattr(library, "cublasGemmStridedBatchedEx", noted)
    for shapes in (((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5))):
        left, right = (laid_out(numbers(shape, np.float32), layout) for shape in shapes)
        PRODUCTS.matmul(left, right)
        assert read[-2:] == [right.data.ptr, left.data.ptr]


def test_matrices_that_do_not_fit_are_refused(library: Library) -> None:
    matrix = laid_out(np.ones((2, 3)), "plain")
    with pytest.raises(ValueError, match="cannot multiply"):
        PRODUCTS.matmul(matrix, matrix)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3)), True),
        (np.zeros((4, 2, 3), np.float16), np.zeros((3, 2), np.float16), True),
        (np.zeros(3), np.zeros((3, 2)), False),
        (np.zeros((2, 3)), np.zeros((3, 2), np.float32), False),
        (np.zeros((2, 3), int), np.zeros((3, 2), int), False),
    ],
)
def test_cublas_multiplies_matrices_of_one_floating_point_type(
    left: Any, right: Any, expected: bool
) -> None:
    assert cuda_products.multiplies(left, right) is expected


def test_all_threads_share_the_handle_of_a_gpu_and_take_turns(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    users: list[int] = []
    multiply = library.cublasGemmStridedBatchedEx

    def entered(*_: Any) -> int:
        users.append(threading.get_ident())
        return library.__class__.cublasSetStream_v2(library, None, ctypes.c_void_p(7))

    def noted(*arguments: Any) -> int:
        # A product runs on the stream that the last call of cublasSetStream_v2 chose.
        assert users[-1] == threading.get_ident()
        return multiply(*arguments)

    monkeypatch.setattr(library, "cublasSetStream_v2", entered)
    monkeypatch.setattr(library, "cublasGemmStridedBatchedEx", noted)
    one = laid_out(np.ones((1, 1)), "plain")
    faults: list[BaseException] = []

    start = threading.Barrier(4)  # Python gives the identity of an ended thread to a new one.

    def work() -> None:
        try:
            start.wait()
            for _ in range(200):
                PRODUCTS.matmul(one, one)
        except BaseException as fault:  # noqa: BLE001 - the test shows it
            faults.append(fault)

    interval = sys.getswitchinterval()
    threads = [threading.Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not faults
    assert len(set(users)) == len(threads)


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (3, errors.ResourceExhaustedError, "CUBLAS_STATUS_ALLOC_FAILED"),
        (13, errors.InternalError, r"status 13 \(cublasStatus_t\)"),
    ],
)
def test_a_failure_of_cublas_is_an_error_of_the_step(
    library: Library, status: int, error: type[Exception], text: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(library, "cublasGemmStridedBatchedEx", lambda *_: status)
    one = laid_out(np.ones((1, 1)), "plain")
    with pytest.raises(RuntimeError, match=text) as raised:
        PRODUCTS.matmul(one, one)
    assert type(errors.from_exception(raised.value)) is error


def test_threads_that_ask_at_once_share_one_handle_of_a_gpu() -> None:
    start, created = threading.Barrier(4), list[int]()

    def create() -> int:
        created.append(5)
        for _ in range(1000):  # Other threads get a turn.
            threading.get_ident()
        return 5

    cublas = types.SimpleNamespace(create=create)
    cuda = types.SimpleNamespace(Device=CUPY.cuda.Device, cublas=cublas)
    cupy, found = types.ModuleType("cupy"), list[Any]()
    cupy.cuda = cuda  # type: ignore[attr-defined]

    def ask() -> None:
        start.wait()
        found.append(cuda_products.of(cupy, 0))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert created == [5]
    assert len(found) == 4
    assert len(set(found)) == 1
