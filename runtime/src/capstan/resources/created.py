"""Resources that an op creates some time after other nodes have their handles."""

import threading
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from capstan import errors
from capstan.core import resource_name
from capstan.resources import resource

State = TypeVar("State")


class Created(resource.Resource, Generic[State]):
    """A place for a state that does not exist until `create`. The state has a lock of its own."""

    type_name: ClassVar[str] = ""
    """The name of the resource's class in TensorFlow, for messages."""

    def __init__(self, name: resource_name.ResourceName) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._state: State | None = None

    def create(self, make: Callable[[], State]) -> None:
        """Make the state, unless it exists."""
        with self._lock:
            if self._state is None:
                self._state = make()

    @property
    def exists(self) -> bool:
        return self._state is not None

    @property
    def state(self) -> State:
        """The state.

        Raises:
            NotFoundError: it was not created yet.
        """
        if self._state is None:
            raise errors.NotFoundError(
                None,
                None,
                f"Resource {self.container}/{self.name}/{self.type_name} does not exist.",
            )
        return self._state

    def abandon(self, error: Any) -> None:
        self._state = None
