"""Variables by their names in a checkpoint of objects, which has them by the names of attributes.

Source: `object_graph_key_mapping` and `saver_from_object_based_checkpoint` of
tensorflow/python/training/saver.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from capstan import errors
from capstan.train import checkpoint_reader, object_graph, saveable_object


def keys(path: str) -> dict[str, str]:
    """Return the keys of the values in a checkpoint, by the names that the variables had.

    The result is empty if the checkpoint is not one of objects.
    """
    reader = checkpoint_reader.NewCheckpointReader(path)
    if not reader.has_tensor(object_graph.KEY):
        return {}
    message = object_graph.parsed(reader.get_tensor(object_graph.KEY))
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in message.nodes
        for attribute in node.attributes
        if attribute.full_name
    }


def chosen(members: Iterable[Any] | Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Return variables by their keys in a checkpoint of objects.

    `members` are variables, or variables by their names. `known` has the keys by these names.

    Raises:
        NotFoundError: a name has no key.
    """
    found = saveable_object.saveables_by_name(members)
    missing = sorted(found.keys() - known.keys())
    if missing:
        raise errors.NotFoundError(
            None,
            None,
            f"Existing variables not in the checkpoint: {', '.join(missing)}\n\nVariable names "
            "when this checkpoint was written which don't exist now: "
            f"{', '.join(sorted(known.keys() - found.keys()))}\n\nThe checkpoint is one of objects "
            "(tf.train.Checkpoint or tf.keras.Model.save_weights), and tf.train.Saver knows its "
            "variables by their names only. Pass `var_list` with the variables that the checkpoint "
            "has, or a dictionary with their old names as keys.",
        )
    return {known[name]: member for name, member in found.items()}
