"""How tests compare ragged tensors (python/framework/test_util.py)."""

# ruff: noqa: PT009 - the class extends unittest's assertions
from collections.abc import Callable
from typing import Any

import numpy as np
from absl.testing import absltest

from capstan.api.ragged import tensor
from capstan.framework import graph as graphs


class RaggedComparisons(absltest.TestCase):
    """The comparisons of ragged tensors with others, or with nested lists."""

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors."""
        raise NotImplementedError("A test case defines how it evaluates tensors")

    def _ragged_equal(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that two values have the same rows, and as many ragged axes."""
        self.assertEqual(self._rows(a), self._rows(b), msg)
        self._same_ragged_rank(a, b, msg)

    def _ragged_close(
        self, a: Any, b: Any, compare: Callable[[Any, Any], None], msg: str | None
    ) -> None:
        """Check that two values have rows of the same lengths, and call `compare` of elements."""
        self._each_close(self._rows(a), self._rows(b), compare, msg)
        self._same_ragged_rank(a, b, msg)

    def _each_close(
        self, a: Any, b: Any, compare: Callable[[Any, Any], None], msg: str | None
    ) -> None:
        self.assertEqual(isinstance(a, list), isinstance(b, list), msg)
        if not isinstance(a, list):
            compare(a, b)
            return
        self.assertEqual(len(a), len(b), msg)
        for one, other in zip(a, b, strict=True):
            self._each_close(one, other, compare, msg)

    def _same_ragged_rank(self, a: Any, b: Any, msg: str | None) -> None:
        if not (isinstance(a, list | tuple) or isinstance(b, list | tuple)):
            self.assertEqual(_ragged_rank(a), _ragged_rank(b), msg)

    def _rows(self, value: Any) -> Any:
        """Return a value as nested lists of Python values."""
        if isinstance(value, tensor.RaggedTensor | graphs.Tensor):
            value = self.evaluate(value)
        if tensor.is_ragged(value):
            return value.to_list()
        if isinstance(value, list | tuple):
            return [self._rows(each) for each in value]
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _ragged_rank(value: Any) -> int:
    return value.ragged_rank if tensor.is_ragged(value) else 0
