"""State that a saver saves as tensors (python/training/saving/saveable_object.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.core import dtypes
from capstan.framework import graph as graphs


class SaveSpec:
    """One tensor to save, under `name` in the checkpoint.

    `tensor` may be a function that returns the tensor when the saver is built. Then `dtype` and
    `device` must be given. If the tensor is a slice of a larger tensor, `slice_spec` says which, as
    `SaveSliceInfo.spec` does; else it is empty.

    Raises:
        AssertionError: `tensor` is a function, and `dtype` or `device` is not given.
    """

    def __init__(
        self,
        tensor: graphs.Tensor | Callable[[], graphs.Tensor],
        slice_spec: str,
        name: str,
        dtype: dtypes.DType | None = None,
        device: str | None = None,
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if isinstance(tensor, graphs.Tensor):
            dtype = tensor.dtype if dtype is None else dtype
            device = tensor.device if device is None else device
        if dtype is None or device is None:
            raise AssertionError(
                "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must "
                "be provided."
            )
        self.dtype = dtype
        self.device = device

    @property
    def tensor(self) -> graphs.Tensor:
        return self._tensor if isinstance(self._tensor, graphs.Tensor) else self._tensor()


class SaveableObject:
    """State that a saver saves as tensors. `specs` lists the tensors, which are on one device.

    `op` is the object that has the state. A saver refuses two saveables with the same `op`. A
    subclass overrides `restore`.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str:
        """The device of the tensors."""
        return self.specs[0].device

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        """Return an operation that restores the state from tensors in the order of `specs`.

        If `restored_shapes` is not None, give the tensors these shapes first.
        """
        raise ValueError("Calling an abstract method.")
