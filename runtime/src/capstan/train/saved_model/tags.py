"""The graphs of a SavedModel by their tags (tensorflow/python/tools/saved_model_utils.py)."""

from typing import Any

from capstan.train.saved_model import loader

__all__ = ["get_meta_graph_def", "get_saved_model_tag_sets", "read_saved_model"]

read_saved_model = loader.parse_saved_model


def get_saved_model_tag_sets(saved_model_dir: str) -> list[list[str]]:
    """Return the tags of each graph of a SavedModel.

    Raises:
        OSError: the folder has no SavedModel, or its file is damaged.
    """
    found = read_saved_model(saved_model_dir).meta_graphs
    return [list(meta.meta_info_def.tags) for meta in found]


def get_meta_graph_def(saved_model_dir: str, tag_set: str) -> Any:
    """Return the MetaGraphDef with exactly these tags, which are comma-separated.

    Raises:
        OSError: the folder has no SavedModel, or its file is damaged.
        RuntimeError: there is no such graph.
    """
    wanted = set(tag_set.split(","))
    for meta in read_saved_model(saved_model_dir).meta_graphs:
        if set(meta.meta_info_def.tags) == wanted:
            return meta
    raise RuntimeError(
        f"MetaGraphDef associated with tag-set {tag_set} could not be found in SavedModel"
    )
