"""The assertions of `tf.test.TestCase` (python/framework/test_util.py)."""

# ruff: noqa: PT009 - the class extends unittest's assertions
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import testing_messages, testing_ragged
from capstan.api.ragged import tensor as ragged_tensor
from capstan.core import devices, dtypes
from capstan.framework import graph as graphs
from capstan.framework import nest

_FLOATS = ("float16", "float32", "float64", "bfloat16")


class Assertions(testing_ragged.RaggedComparisons):
    """Assertions about arrays, tensors, messages, devices and errors.

    A tensor is evaluated, by `evaluate`, before it is compared. Each assertion raises
    AssertionError if it does not hold. The metaclass is that of `unittest.TestCase`, so that
    programs may also inherit from a test case with a metaclass, such as absl's parameterized one.
    """

    def assertItemsEqual(self, first: Any, second: Any, msg: Any = None) -> None:
        """Check that two sequences have the same elements, in any order."""
        self.assertCountEqual(first, second, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        if not actual.startswith(expected_start):
            note = f" : {msg!r}" if msg else ""
            self.fail(f"{actual!r} does not start with {expected_start!r}{note}")

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:
        """Check that a message equals another message, or a message in text format.

        Of a float, six digits behind the point count, and of a double seven.
        """
        from google.protobuf import text_format

        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = text_format.Parse(expected, type(message)())
        elif not isinstance(expected, type(message)):
            self.fail(
                f"Can't compare protos of type {type(expected)} and {type(message)}. {msg or ''}"
            )
        expected, message = map(testing_messages.rounded, (expected, message))
        if expected != message:
            first, second = map(text_format.MessageToString, (expected, message))
            self.assertMultiLineEqual(first, second, msg)  # type: ignore[no-untyped-call]
            self.fail(f"{expected!r} != {message!r} {msg or ''}")

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Check that two numbers differ by at most `err`."""
        if f1 != f2 and not abs(f1 - f2) <= err:
            self.fail(f"{f1:f} != {f2:f} +/- {err:f}" + (f" ({msg})" if msg else ""))

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Check that the elements of two lists differ by at most `err`."""
        if len(farray1) != len(farray2):
            self.fail(f"{len(farray1)} != {len(farray2)} {msg or ''}")
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(float(first), float(second), err, msg=msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Check that the norm of the difference of two arrays is less than `err`."""
        self.assertLess(np.linalg.norm(ndarray1 - ndarray2), err, msg=msg)

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Check that each element of `a` differs from `b` by at most `atol + rtol * abs(b)`.

        `a` and `b` may also be dictionaries, namedtuples or nested lists of arrays, or ragged.

        Raises:
            ValueError: the structures differ.
        """
        if ragged_tensor.is_ragged(a) or ragged_tensor.is_ragged(b):

            def close(one: Any, other: Any) -> None:
                self._close(one, other, (rtol, atol), "", msg or "")

            self._ragged_close(a, b, close, msg)
            return
        self._close(a, b, (rtol, atol), "", msg or "")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Call `assertAllClose` with the tolerance of the less precise type."""
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        kinds = {a.dtype.name, b.dtype.name}
        for names, relative, absolute in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if kinds & names:
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that two arrays have the same shape and elements. NaN equals NaN.

        A ragged tensor equals nested lists of its elements.
        """
        if ragged_tensor.is_ragged(a) or ragged_tensor.is_ragged(b):
            self._ragged_equal(a, b, msg)
            return
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        self._same_shape(a, b, msg or "")
        same = a == b
        if a.dtype.name in _FLOATS and b.dtype.name in _FLOATS:
            same |= np.isnan(a) & np.isnan(b)
        if not np.all(same):
            where = np.nonzero(~np.asarray(same)) if a.ndim else ()
            note = f"{msg or ''}\nnot equal where = {where}\n"
            self.fail(note + f"not equal lhs = {a[where]}\nnot equal rhs = {b[where]}")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        try:
            self.assertAllEqual(a, b, msg)
        except AssertionError:
            return
        self.fail("The two values are equal at all elements")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(np.min(self._GetNdArray(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(np.max(self._GetNdArray(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(np.min(self._GetNdArray(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(np.max(self._GetNdArray(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Check that all elements are numbers between two bounds. An open bound is excluded."""
        values = self._GetNdArray(target)
        if not np.issubdtype(values.dtype, np.number):
            self.fail(
                f"The value of {values} does not have an ordered numeric type, instead it has "
                f"type: {values.dtype}"
            )
        above = values > lower_bound if open_lower_bound else values >= lower_bound
        below = values < upper_bound if open_upper_bound else values <= upper_bound
        outside = values[~(above & below)]
        if outside.size:
            opening, closing = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
            self.fail(
                f"{outside.size} of the {values.size} element(s) are outside the range "
                f"{opening}{lower_bound}, {upper_bound}{closing}. Values: {outside[:10]}"
            )

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:
        members = list(expected_set)
        others = np.setdiff1d(self._GetNdArray(target).ravel(), members)
        if others.size:
            self.fail(f"{others.size} unique element(s) are not in the set {members}: {others}")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(self._GetNdArray(target).dtype, expected_dtype)

    @contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]  # as in TensorFlow
        self,
        exception_type: type[BaseException],
        expected_err_re_or_predicate: str | Callable[[Any], object],
    ) -> Iterator[None]:
        """Check that the block raises an error that matches.

        The second argument is a function of the error, or a regular expression. The expression is
        searched in the message. For an error of a step, it is also searched in the name of the
        operation.
        """
        wanted = expected_err_re_or_predicate
        try:
            yield
        except Exception as error:
            is_match = wanted(error) if callable(wanted) else re.search(wanted, _text(error))
            if not isinstance(error, exception_type) or not is_match:
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Check that the block raises an OpError that matches, as the method above does."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """Check that an array has the static shape of a tensor."""
        if not isinstance(np_array, np.ndarray | np.generic):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not isinstance(tf_tensor, graphs.Tensor):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg=msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Check that two names mean the same device, in whichever form they are written."""
        first, second = _device(device1), _device(device2)
        note = f"Devices {first} and {second} are not equal. {msg}"
        self.assertEqual(first, second, note)

    def _GetNdArray(self, value: Any) -> Any:
        """Return a value as an array. Bytes stay bytes. Programs call this by TensorFlow's name."""
        leaves = nest.flatten(value) if isinstance(value, list | tuple) else [value]
        tensors = [leaf for leaf in leaves if _is_symbolic(leaf)]
        if tensors:
            found = iter(self.evaluate(tensors))
            values = [next(found) if _is_symbolic(leaf) else leaf for leaf in leaves]
            value = nest.packed(value, values)
        return np.asarray(value)

    def _same_shape(self, a: Any, b: Any, msg: str) -> None:
        contents = f" with contents {b}" if b.ndim <= 3 or b.size < 500 else ""
        note = f"Shape mismatch: expected {a.shape}, got {b.shape}{contents}. {msg}"
        self.assertEqual(a.shape, b.shape, note)

    def _close(self, a: Any, b: Any, tolerance: tuple[float, float], path: str, msg: str) -> None:
        a, b = _plain(a), _plain(b)
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg}")
        if isinstance(a, Mapping):
            self.assertCountEqual(a, b, f"mismatched keys of a{path} and b{path}. {msg}")
            for key in a:
                self._close(a[key], b[key], tolerance, f"{path}[{key}]", msg)
            return
        try:
            self._arrays_close(self._GetNdArray(a), self._GetNdArray(b), tolerance, path, msg)
        except (TypeError, ValueError):
            if not isinstance(a, list | tuple):
                raise
            if len(a) != len(b):
                raise ValueError(
                    f"Mismatched length: a{path} has {len(a)} items, but b{path} has {len(b)} "
                    f"items. {msg}"
                ) from None
            for index, pair in enumerate(zip(a, b, strict=True)):
                self._close(*pair, tolerance, f"{path}[{index}]", msg)

    def _arrays_close(
        self, a: Any, b: Any, tolerance: tuple[float, float], path: str, msg: str
    ) -> None:
        self._same_shape(a, b, msg)
        rtol, atol = tolerance
        if not np.allclose(a, b, rtol=rtol, atol=atol):
            note = f"Mismatched value: a{path} is different from b{path}. {msg}"
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=note, equal_nan=True)


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, graphs.Tensor) or hasattr(value, "_as_tensor")


def _plain(value: Any) -> Any:
    """Return a namedtuple as a dictionary."""
    return value._asdict() if hasattr(value, "_asdict") else value


def _text(error: BaseException) -> str:
    if not isinstance(error, errors.OpError):
        return str(error)
    names = "" if error.op is None else f"\nCaused by: {error.op.name}"
    return f"{error.message}{names}"


def _device(name: Any) -> str:
    text = name.decode() if isinstance(name, bytes) else name
    return devices.parse(text).to_string() if text else ""


def is_floating(kind: Any) -> bool:
    """Return whether tensors of a type have gradients."""
    return dtypes.as_dtype(kind).base_dtype.name in (*_FLOATS, "complex64", "complex128")
