"""The public names of modules, as `dir()` and the reference show them."""

import typing

import pytest

import capstan as tf
from capstan.core import alias, public


def test_all_decides_which_names_are_public() -> None:
    assert public.names({"b": 1, "a": 2, "_c": 3, "__all__": ["b", "a"]}) == ["a", "b"]


def test_modules_helpers_and_hidden_names_are_not_public() -> None:
    namespace = {
        "relu": len,
        "SIZE": 3,
        "_hidden": 4,
        "typing": typing,
        "Any": typing.Any,
        "TYPE_CHECKING": False,
    }
    assert public.names(namespace) == ["SIZE", "relu"]


@pytest.mark.parametrize(
    "module, names",
    [
        (tf, {"add", "train", "errors", "ConfigProto"}),
        (tf.train, {"AdamOptimizer", "Example"}),
        (tf.estimator, {"Estimator", "export"}),
        (tf.contrib, {"layers", "slim", "rnn", "training"}),
        (tf.contrib.slim, {"conv2d", "arg_scope", "learning"}),
        (tf.contrib.training, {"HParams", "create_train_op"}),
        (tf.contrib.rnn, {"LSTMCell", "static_rnn"}),
        (tf.math, {"add", "xdivy", "top_k"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_dir_shows_the_public_names_and_no_others(module: typing.Any, names: set[str]) -> None:
    shown = set(dir(module))
    assert names <= shown
    assert all(hasattr(module, name) for name in shown)
    internal = {"Any", "absent", "importlib", "checkpointing", "executor"}
    assert not internal & shown
    if module is not tf:
        assert not [name for name in shown if name.startswith("_")]


def test_an_alias_finds_a_name_by_its_path() -> None:
    alias.grow("capstan.contrib", {"tried": ({"one": "capstan.core.public.names"},)})
    try:
        assert tf.contrib.tried.one is public.names
        assert dir(tf.contrib.tried) == ["one"]
        with pytest.raises(AttributeError, match="lacks this part"):
            _ = tf.contrib.tried.two
    finally:
        del tf.contrib.tried


@pytest.mark.parametrize("name", dir(tf.contrib))
def test_every_package_of_contrib_shows_only_its_public_names(name: str) -> None:
    package = getattr(tf.contrib, name)
    hidden = {"Any", "absent", "annotations", "np"}
    assert not hidden.intersection(dir(package))
