"""Iterators: the position in a dataset (core/kernels/data/iterator_ops.cc).

Steps ask for elements in order. An element that needs no other thread is made at once, in the
thread of the step. Any other element is made in a thread of the iterator, so a step that waits
holds a callback and no thread. If a step ends before it takes its element, the next step gets the
element; TensorFlow loses it.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core import resource_name, shapes
from capstan.resources import dataset, iterator_service, iterator_state, resource, waiters
from capstan.resources.dataset import Spec


class Iterator(resource.Resource):
    """A position in a dataset, which `initialize` sets. Thread-safe. No method blocks.

    When nothing refers to the iterator any more, its pass and its thread end.
    """

    def __init__(self, name: resource_name.ResourceName, spec: Spec) -> None:
        super().__init__(name)
        self.spec = spec
        self._service = iterator_service.Service(spec)
        weakref.finalize(self, self._service.end).atexit = False

    def initialize(self, plan: dataset.Dataset) -> None:
        """Begin a pass over `plan`. Steps that wait get their elements from this pass.

        The pass begins at the place of `restore`, if the iterator had no dataset then.

        Raises:
            InvalidArgumentError: the types or the shapes of the dataset do not fit the iterator.
        """
        check_spec(self.spec, plan.spec)
        self._service.initialize(plan)

    def get_next(
        self,
        done: waiters.Done,
        cancellation: cancellations.Cancellation,
        wrap: Callable[[Any], Sequence[Any]] | None = None,
    ) -> None:
        """Answer `done` with the next element.

        At the end the answer is OutOfRangeError. With `wrap`, the outputs are `wrap(element)`, or
        `wrap(None)` at the end.
        """
        self._service.get_next(iterator_service.Request(done, wrap), cancellation)

    def position(self) -> iterator_state.Position:
        """Return the place in the dataset.

        Raises:
            FailedPreconditionError: the iterator has no dataset.
        """
        return self._service.position()

    def restore(self, position: iterator_state.Position) -> None:
        """Go to a place in the dataset of the last `initialize`, or else of the next one.

        The next step makes all elements before the place again.
        """
        self._service.restore(position)

    def abandon(self, error: errors.OpError) -> None:
        self._service.abandon(error)


def check_spec(expected: Spec, found: Spec) -> None:
    """Check that a dataset fits an iterator.

    Raises:
        InvalidArgumentError: it does not. The message is TensorFlow's (data/dataset_utils.cc).
    """
    if not expected.types:
        return
    if len(expected.types) != len(found.types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Number of components does not match: expected {len(expected.types)} types but got "
            f"{len(found.types)}.",
        )
    for index, (mine, theirs) in enumerate(zip(expected.types, found.types, strict=True)):
        if mine is not theirs:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Data type mismatch at component {index}: expected {mine.name} but got "
                f"{theirs.name}.",
            )
    for index, (size, given) in enumerate(zip(expected.shapes, found.shapes, strict=True)):
        if not shapes.is_compatible(size, given):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Incompatible shapes at component {index}: expected {shapes.show(size)} but got "
                f"{shapes.show(given)}.",
            )
