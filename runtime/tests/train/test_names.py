"""What `tf.train` names."""

import pytest

import capstan as tf


def test_every_name_that_is_exported_is_there():
    for name in tf.train.__all__:
        assert getattr(tf.train, name) is not None


def test_everything_public_is_exported():
    modules = {name for name, value in vars(tf.train).items() if type(value) is type(tf)}
    public = {name for name in vars(tf.train) if not name.startswith("_")}
    assert public - modules - {"TYPE_CHECKING", "Any"} <= set(tf.train.__all__)
    # A module of the package may not hide a function of tf.train, nor the other way round.
    assert not modules & set(tf.train.__all__)


def test_a_name_that_is_missing_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'capstan\.train' has no attribute 'Supervisor'"):
        _ = tf.train.Supervisor
