"""The result of `tf.train.Checkpoint.restore`: what to restore, and what is missing.

Source: tensorflow/python/training/tracking/util.py.
"""

from typing import Any, Self

from capstan.api import variables
from capstan.framework import defaults
from capstan.train import checkpoint_reader, object_graph
from capstan.train import saver as savers


def session_of(session: Any, root: Any) -> Any:
    """Return the session, by default the default session.

    Without both, return the session of a layer of Keras below the object `root`, which has
    initialised the variables of the graph. Such a layer has the property `_training_session`.

    Raises:
        ValueError: there is none.
    """
    found = session or defaults.get_default_session()
    if found is None:
        layers = (node.value for node in object_graph.of(root).nodes)
        sessions = (getattr(layer, "_training_session", None) for layer in layers)
        found = next(filter(None, sessions), None)
    if found is None:
        raise ValueError(
            "There is no session. Pass `session=`, or call this method in a block "
            "`with session.as_default():`"
        )
    return found


class Restorer:
    """Restores variables. The operations for the same variables are added to the graph once."""

    def __init__(self) -> None:
        self._savers: dict[tuple[tuple[str, int], ...], savers.Saver] = {}

    def restore(self, session: Any, found: dict[str, Any], path: str) -> None:
        """Restore variables by their names in the checkpoint `path`. Blocks.

        Raises:
            InvalidArgumentError: a variable has another dtype or shape in the checkpoint.
        """
        if not found:
            return
        key = tuple((name, id(variable)) for name, variable in found.items())
        if key not in self._savers:
            with session.graph.as_default():
                self._savers[key] = savers.Saver(found, max_to_keep=0)
        self._savers[key].restore(session, path)


class CheckpointLoadStatus:
    """Restores the objects that a checkpoint of objects has.

    Objects are matched when a method is called, so objects that were made after `restore` are
    restored too.
    """

    def __init__(self, root: Any, save_path: str, serialized: bytes, restorer: Restorer) -> None:
        self._root = root
        self._path = save_path
        self._message = object_graph.parsed(serialized)
        self._restorer = restorer
        self._restored: set[str] = set()

    def assert_consumed(self) -> Self:
        """Check that all objects of the checkpoint match, and that all variables are in it.

        Raises:
            AssertionError: an object is left over on either side.
        """
        found = object_graph.match(self._root, self._message)
        for number in range(len(self._message.nodes)):
            if number not in found:
                raise AssertionError(
                    f"Unresolved object in checkpoint: {self._described(number)}. Build the "
                    "object before this call, or use assert_existing_objects_matched()"
                )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> Self:
        """Check that the checkpoint has all variables of the program.

        Raises:
            AssertionError: a variable is missing.
        """
        matched = {id(each) for each in self._variables().values()}
        for node in object_graph.of(self._root).nodes:
            if node.is_variable and id(node.value) not in matched:
                raise AssertionError(
                    "Some Python objects were not bound to checkpointed values, likely due to "
                    f"changes in the Python program: {node.path} ({node.value.name}) is not in "
                    f"{self._path}"
                )
        return self

    def assert_nontrivial_match(self) -> Self:
        """Check that at least one object other than the root matches.

        Raises:
            AssertionError: none does.
        """
        if len(object_graph.match(self._root, self._message)) < 2:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this "
                "means that the checkpoint does not match the Python program. The checkpoint has: "
                f"{[each.local_name for each in self._message.nodes[0].children]}"
            )
        return self

    def expect_partial(self) -> Self:
        """Return this status. Capstan never warns of values that are not used."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore the variables that match, in the default session by default. Blocks.

        Raises:
            InvalidArgumentError: a variable has another dtype or shape in the checkpoint.
            ValueError: there is no session.
        """
        self._restore(session_of(session, self._root), self._variables())

    def run_new_restore_ops(self, session: Any) -> None:
        """Restore the variables that match and that this status has not restored yet. Blocks.

        Raises:
            InvalidArgumentError: a variable has another dtype or shape in the checkpoint.
        """
        every = self._variables().items()
        self._restore(session, {key: each for key, each in every if key not in self._restored})

    def _restore(self, session: Any, found: dict[str, Any]) -> None:
        self._restorer.restore(session, found, self._path)
        self._restored.update(found)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore the variables that match, and initialise the others. Blocks.

        Raises:
            InvalidArgumentError: a variable has another dtype or shape in the checkpoint.
            ValueError: there is no session.
        """
        session = session_of(session, self._root)
        matched = {id(each) for each in self._variables().values()}
        initialize(self._root, session, matched)
        self.run_restore_ops(session)

    def _variables(self) -> dict[str, Any]:
        """Return the variables that match, by their names in the checkpoint."""
        found = {}
        for number, value in object_graph.match(self._root, self._message).items():
            key = object_graph.value_key(self._message, number)
            if key is not None and isinstance(value, variables.Variable):
                found[key] = value
        return found

    def _described(self, number: int) -> str:
        named = list(object_graph.keys(self._message, number).values())
        return ", ".join(named) if named else f"node {number} of {self._path}"


class InitializationOnlyStatus:
    """The status of a restore without a checkpoint. It can only initialise the variables."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def assert_consumed(self) -> Self:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> Self:
        """Return this status."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to "
            "Saver.restore). Call initialize_or_restore() to initialise the variables"
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialise all variables of the objects. Blocks.

        Raises:
            ValueError: there is no session.
        """
        initialize(self._root, session_of(session, self._root), set())


class NameBasedSaverStatus:
    """Restores variables by their names from a checkpoint of `tf.train.Saver`."""

    def __init__(self, root: Any, save_path: str, restorer: Restorer) -> None:
        self._root = root
        self._path = save_path
        self._restorer = restorer

    def assert_consumed(self) -> Self:
        """Check that the checkpoint has all variables, and no others.

        Raises:
            AssertionError: a name is left over on either side.
        """
        self.assert_existing_objects_matched()
        names = {variable.op.name for variable in object_graph.of(self._root).variables().values()}
        unused = sorted({name for name, _ in checkpoint_reader.list_variables(self._path)} - names)
        if unused:
            raise AssertionError(f"Some values in the checkpoint were not used: {unused}")
        return self

    def assert_existing_objects_matched(self) -> Self:
        """Check that the checkpoint has the names of all variables.

        Raises:
            AssertionError: a name is missing.
        """
        saved = {name for name, _ in checkpoint_reader.list_variables(self._path)}
        for variable in object_graph.of(self._root).variables().values():
            if variable.op.name not in saved:
                raise AssertionError(f"Object not restored: {variable.name} is not in {self._path}")
        return self

    assert_nontrivial_match = assert_existing_objects_matched

    def expect_partial(self) -> Self:
        """Return this status."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore all variables of the objects that the checkpoint has. Blocks.

        Raises:
            InvalidArgumentError: a variable has another dtype or shape in the checkpoint.
            ValueError: there is no session.
        """
        session = session_of(session, self._root)
        saved = {name for name, _ in checkpoint_reader.list_variables(self._path)}
        every = object_graph.of(self._root).variables().values()
        found = {each.op.name: each for each in every if each.op.name in saved}
        self._restorer.restore(session, found, self._path)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore the variables that the checkpoint has, and initialise the others. Blocks.

        Raises:
            ValueError: there is no session.
        """
        session = session_of(session, self._root)
        initialize(self._root, session, set())
        self.run_restore_ops(session)


def initialize(root: Any, session: Any, done: set[int]) -> None:
    """Initialise the variables below `root`, except those whose ids are in `done`."""
    every = object_graph.of(root).variables().values()
    session.run([variable.initializer for variable in every if id(variable) not in done])
