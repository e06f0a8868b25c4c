"""`tf.contrib`: its modules can be imported by their paths, and give the parts that exist."""

import importlib
import pathlib
import unittest

import pytest

import capstan as tf

NAMES = [
    ("framework", "get_or_create_global_step", tf.train.get_or_create_global_step),
    ("framework", "load_variable", tf.train.load_variable),
    ("staging", "StagingArea", importlib.import_module("capstan.api.staging").StagingArea),
    ("util", "make_tensor_proto", tf.make_tensor_proto),
]


@pytest.mark.parametrize("module, name, value", NAMES)
def test_a_module_of_contrib_has_the_name(module: str, name: str, value: object) -> None:
    assert getattr(importlib.import_module(f"capstan.contrib.{module}"), name) is value


def test_contrib_can_be_imported_in_every_way() -> None:
    import capstan.contrib.training as by_path
    from capstan.contrib import training

    assert training is by_path is tf.contrib.training
    assert by_path.GreedyLoadBalancingStrategy.__name__ == "GreedyLoadBalancingStrategy"


def test_a_name_that_contrib_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'capstan\.contrib\.framework' .* 'fuse_op'"):
        _ = tf.contrib.framework.fuse_op
    with pytest.raises(AttributeError, match=r"'capstan\.contrib' .* 'tensorrt'"):
        _ = tf.contrib.tensorrt


def test_the_newest_summaries_of_a_folder_are_read(tmp_path: pathlib.Path) -> None:
    testing = tf.contrib.testing
    assert testing.latest_summaries(tmp_path) == []
    with tf.summary.FileWriter(tmp_path) as writer:
        for step in (2, 1):
            loss = tf.Summary.Value(tag="loss", simple_value=step / 2)
            writer.add_summary(tf.Summary(value=[loss]), step)
    found = testing.latest_summaries(tmp_path)
    assert [event.step for event in found] == [2, 1]
    assert testing.simple_values_from_events(found, ["loss", "other"]) == {"loss": 1.0}
    image = tf.Event(summary=tf.Summary(value=[tf.Summary.Value(tag="image", tensor={})]))
    with pytest.raises(ValueError, match="Summary for image is not a simple_value"):
        testing.simple_values_from_events([image], ["image"])


@pytest.mark.e2e
def test_a_fake_writer_keeps_the_summaries_of_hooks() -> None:
    fake = tf.contrib.testing.FakeSummaryWriter
    real = tf.summary.FileWriter
    fake.install()
    try:
        with pytest.raises(ValueError, match="already installed"):
            fake.install()
        writer = tf.summary.FileWriter("logs")
    finally:
        fake.uninstall()
    assert type(writer) is fake
    assert tf.summary.FileWriter is real
    with pytest.raises(ValueError, match="not installed"):
        fake.uninstall()

    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        loss = tf.summary.scalar("loss", 3.0)
        hook = tf.train.SummarySaverHook(1, summary_writer=writer, summary_op=loss)
        following = tf.assign_add(step, 1)
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(following)
    test = unittest.TestCase()
    writer.assert_summaries(test, expected_logdir="logs", expected_summaries={1: {"loss": 3.0}})
    for wrong in ({1: {"loss": 1.0}}, {7: {"loss": 3.0}}):
        with pytest.raises(AssertionError):
            writer.assert_summaries(test, expected_summaries=wrong)
