"""Collections of a graph, and the standard names for them (`tf.GraphKeys`)."""

import re
from collections.abc import Iterable
from typing import Any, Final


class GraphKeys:
    """Names of the collections that TensorFlow and Capstan use themselves."""

    GLOBAL_VARIABLES: Final = "variables"
    VARIABLES: Final = "variables"
    LOCAL_VARIABLES: Final = "local_variables"
    METRIC_VARIABLES: Final = "metric_variables"
    MODEL_VARIABLES: Final = "model_variables"
    TRAINABLE_VARIABLES: Final = "trainable_variables"
    MOVING_AVERAGE_VARIABLES: Final = "moving_average_variables"
    SUMMARIES: Final = "summaries"
    QUEUE_RUNNERS: Final = "queue_runners"
    TABLE_INITIALIZERS: Final = "table_initializer"
    ASSET_FILEPATHS: Final = "asset_filepaths"
    REGULARIZATION_LOSSES: Final = "regularization_losses"
    LOSSES: Final = "losses"
    CONCATENATED_VARIABLES: Final = "concatenated_variables"
    SAVERS: Final = "savers"
    WEIGHTS: Final = "weights"
    BIASES: Final = "biases"
    ACTIVATIONS: Final = "activations"
    UPDATE_OPS: Final = "update_ops"
    SAVEABLE_OBJECTS: Final = "saveable_objects"
    RESOURCES: Final = "resources"
    LOCAL_RESOURCES: Final = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES: Final = "trainable_resource_variables"
    INIT_OP: Final = "init_op"
    LOCAL_INIT_OP: Final = "local_init_op"
    READY_OP: Final = "ready_op"
    READY_FOR_LOCAL_INIT_OP: Final = "ready_for_local_init_op"
    SUMMARY_OP: Final = "summary_op"
    GLOBAL_STEP: Final = "global_step"
    EVAL_STEP: Final = "eval_step"
    TRAIN_OP: Final = "train_op"
    COND_CONTEXT: Final = "cond_context"
    WHILE_CONTEXT: Final = "while_context"


class Collections:
    """Lists of arbitrary values by name. Not thread-safe: the graph that owns it takes a lock."""

    __slots__ = ("_lists",)

    def __init__(self) -> None:
        self._lists: dict[Any, list[Any]] = {}

    def add(self, name: Any, value: Any) -> None:
        self._lists.setdefault(name, []).append(value)

    def __getitem__(self, name: Any) -> list[Any]:
        """Return the live list of a collection. Programs read `Graph._collections[name]`.

        Raises:
            KeyError: the graph has no collection of this name.
        """
        return self._lists[name]

    def reference(self, name: Any) -> list[Any]:
        """Return the live list of a collection. A missing collection is created."""
        return self._lists.setdefault(name, [])

    def copy(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of a collection. With `scope`, keep only values whose name matches it."""
        values = list(self._lists.get(name, ()))
        if scope is None:
            return values
        pattern = re.compile(scope)
        return [value for value in values if hasattr(value, "name") and pattern.match(value.name)]

    def inner(self, shared: Iterable[Any]) -> "Collections":
        """Return copies of the collections. Those called `shared` are the same lists."""
        made = Collections()
        made._lists = {name: list(values) for name, values in self._lists.items()}
        made._lists.update((name, self.reference(name)) for name in shared)
        return made

    def clear(self, name: Any) -> None:
        self._lists.pop(name, None)

    def keys(self) -> list[Any]:
        """Return the names of the collections. Names that are not strings are left out."""
        return [name for name in self._lists if isinstance(name, str)]
