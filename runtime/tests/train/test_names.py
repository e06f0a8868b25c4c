"""Tests of the names that `tf.train` exports."""

import pytest

import capstan as tf


def test_every_exported_name_exists():
    for name in tf.train.__all__:
        assert getattr(tf.train, name) is not None


def test_everything_public_is_exported():
    modules = {name for name, value in vars(tf.train).items() if type(value) is type(tf)}
    public = {name for name in vars(tf.train) if not name.startswith("_")}
    assert public - modules - {"TYPE_CHECKING", "Any"} <= set(tf.train.__all__)
    # A module of the package and a name that tf.train exports must not share a name.
    assert not modules & set(tf.train.__all__)


def test_a_missing_name_raises_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'capstan\.train' has no attribute 'Nothing'"):
        _ = tf.train.Nothing
