"""`tf.contrib.tensorboard.plugins.projector`: TensorBoard is told which embeddings to show."""

import pathlib

import pytest
from google.protobuf import text_format

import capstan as tf
from capstan.contrib.tensorboard.plugins import projector


def test_the_configuration_is_beside_the_events(tmp_path: pathlib.Path) -> None:
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words"
    embedding.metadata_path = "words.tsv"
    with tf.Graph().as_default(), tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    written = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(written, projector.ProjectorConfig()) == config


def test_a_writer_without_a_folder_is_refused() -> None:
    writer = tf.contrib.testing.FakeSummaryWriter("")
    writer.get_logdir = lambda: None
    with pytest.raises(ValueError, match="must have a logdir"):
        projector.visualize_embeddings(writer, projector.ProjectorConfig())
