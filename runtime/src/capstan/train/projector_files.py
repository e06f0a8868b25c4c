"""The files that tell TensorBoard which embeddings to show
(tensorboard/plugins/projector/__init__.py)."""

from typing import Any

from capstan.resources import file_names, files


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write a ProjectorConfig to the folder of a summary writer, where TensorBoard finds it.

    Raises:
        ValueError: the writer has no folder.
    """
    from google.protobuf import text_format

    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    path = file_names.joined(folder, "projector_config.pbtxt")
    files.write_all(path, text_format.MessageToString(config).encode())
