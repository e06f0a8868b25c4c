"""What pytest collects here, and the number of examples per property: 10 in `make check`, 100 in
`make test`, 300 in `make soak`.
"""

import contextlib
import gc
import os
import tempfile
from collections.abc import Iterator

import hypothesis
import pytest

import capstan as tf

# By default, TensorFlow uses oneDNN on some processors only. Its results then differ from those of
# TensorFlow's own kernels, for example the gradient of MaxPool3D if elements are equal.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

# Tests start this program. Its flags would stay defined in the process of the tests.
collect_ignore = ["train/replica.py"]

# The Makefile chooses the profile. By hand, choose it with `--hypothesis-profile=full`. An example
# has no deadline, because the machine may be busy.
hypothesis.settings.register_profile("fast", max_examples=10, deadline=None)
hypothesis.settings.register_profile("full", max_examples=100, deadline=None)
hypothesis.settings.register_profile("soak", max_examples=300, deadline=None)
hypothesis.settings.load_profile("fast")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector of reference cycles away from what pytest finds: a million objects that
    live until the end. It would search them again and again, which takes longer than finding them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _temporary_folders() -> Iterator[None]:
    """Remove the folders that programs leave in the folder for temporary files, such as those of
    Estimators without `model_dir`.

    Child processes use the same folder. Its name is short, because paths of sockets are limited.
    """
    with (
        tempfile.TemporaryDirectory(prefix="c-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        root = os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        patch.setenv("PYTEST_DEBUG_TEMPROOT", root)  # pytest removes the folders that it makes
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def _empty_graph() -> None:
    """Empty the default graph. A session gets the whole graph, so a wrong node that another test
    left there would fail its steps.
    """
    with contextlib.suppress(AssertionError):  # The graph of a fixture of the module is open.
        tf.reset_default_graph()


@pytest.fixture
def graph(_empty_graph: None) -> tf.Graph:
    """The default graph of the test."""
    return tf.get_default_graph()
