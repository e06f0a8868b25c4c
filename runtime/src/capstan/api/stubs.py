"""`tf.test.StubOutForTesting`: replaces attributes in tests (python/platform/googletest.py)."""

import inspect
from types import TracebackType
from typing import Any, Self


class StubOutForTesting:
    """Replaces attributes of modules, classes and objects, and puts them back in `CleanUp`."""

    def __init__(self) -> None:
        self._old: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Put back all attributes. Idempotent."""
        while self._old:
            setattr(*self._old.pop())

    UnsetAll = SmartUnsetAll = CleanUp

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute.

        Raises:
            AttributeError: there is no such attribute.
        """
        old = getattr(parent, child_name)
        if isinstance(vars(parent).get(child_name), staticmethod):
            old = staticmethod(old)
        self._old.append((parent, child_name, old))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replace an attribute where it is defined: in the object, or in one of its classes.

        Raises:
            AttributeError: there is no such attribute.
        """
        if inspect.ismodule(obj) or (not inspect.isclass(obj) and attr_name in vars(obj)):
            return self.Set(obj, attr_name, new_attr)
        classes = inspect.getmro(obj if inspect.isclass(obj) else type(obj))
        for owner in classes:
            if attr_name in vars(owner):
                return self.Set(owner, attr_name, new_attr)
        raise AttributeError("Attribute not found.")
