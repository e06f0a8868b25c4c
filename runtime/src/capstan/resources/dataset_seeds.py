"""The resources through which datasets of TensorFlow 2 share seeds (random_seed_ops.cc)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from capstan import errors
from capstan.core import dtypes, resource_name
from capstan.resources import resource, variant


class Seeds(resource.Resource):
    """The seeds of a dataset. If `reshuffles`, each pass of the dataset draws seeds from them."""

    def __init__(
        self, name: resource_name.ResourceName, seeds: tuple[int, int], *, reshuffles: bool
    ) -> None:
        super().__init__(name)
        self.seeds, self.reshuffles = seeds, reshuffles


class Deleter(variant.Variant):
    """Stands for the life of a resource, which ends when nothing refers to the resource."""

    __slots__ = ()
    type_name: ClassVar[str] = "tensorflow::ResourceDeleter"

    def zeros_like(self) -> "Deleter":
        raise _unimplemented()

    def plus(self, other: variant.Variant) -> "Deleter":
        raise _unimplemented()

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        raise _unimplemented()


def _unimplemented() -> errors.OpError:
    return errors.UnimplementedError(
        None, None, "The deleter of a resource has no zeros and no sum, and stays on its task"
    )
