"""`tf.test.TestCase`: a test with a graph of its own (python/framework/test_util.py)."""

import functools
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from capstan.api import testing_compare, testing_streams, testing_threads
from capstan.client import session as sessions
from capstan.framework import defaults, random_seed
from capstan.framework import graph as graphs


class TestCase(testing_compare.Assertions):
    """A test case whose tests each begin with an empty default graph and fixed seeds."""

    __test__ = True

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[testing_threads.CheckedThread] = []
        self._cached_session: sessions.Session | None = None
        self._cached_arguments: tuple[Any, Any, bool] = (None, None, False)

    def setUp(self) -> None:
        self._close_session()
        random.seed(random_seed.DEFAULT_GRAPH_SEED)
        np.random.seed(random_seed.DEFAULT_GRAPH_SEED)
        graphs.reset_default_graph()
        random_seed.set_random_seed(random_seed.DEFAULT_GRAPH_SEED)
        # The method of this name is not a test, although its name begins like one.
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        self._close_session()

    def get_temp_dir(self) -> str:
        """Return a folder for this test. It is removed after the test."""
        if not hasattr(self, "_folder"):
            self._folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def captureWritesToStream(self, stream: Any) -> AbstractContextManager[Any]:
        """Return a context whose `contents()` are the writes to the stream in its block.

        The stream is `sys.stdout`, `sys.stderr`, or another one with a file descriptor.
        """
        file, path = tempfile.mkstemp(dir=self.get_temp_dir())
        os.close(file)
        return testing_streams.captured(stream, path)

    def evaluate(self, tensors: Any) -> Any:
        """Run tensors in the default session, or in the session of this test."""
        session = defaults.SESSIONS.top
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as cached:
            return cached.run(tensors)

    @contextmanager
    def session(
        self,
        graph: graphs.Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[sessions.Session]:
        """Open a session, which is closed after the block, and make it and its graph the default.

        Operations of the block are placed on the CPU, unless `use_gpu` or `force_gpu`. With
        `force_gpu`, operations that have no kernel for a GPU are errors.
        """
        with _session(graph, config, force_gpu) as opened, _placed(opened, use_gpu, force_gpu):
            yield opened

    @contextmanager
    def cached_session(
        self,
        graph: graphs.Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[sessions.Session]:
        """Open the session of this test. Later calls get the same session.

        Raises:
            ValueError: the test has opened its session with other arguments.
        """
        if self._cached_session is not None:
            arguments = ("graph", "config", "force_gpu value")
            given = (graph, config, force_gpu)
            for name, old, new in zip(arguments, self._cached_arguments, given, strict=True):
                if old is not new:
                    raise ValueError(
                        f"The {name} used to get the cached session is different than the one "
                        "that was used to create the session. Maybe create a new session with "
                        "self.session()"
                    )
        with self._cached(graph, config, use_gpu, force_gpu) as session:
            yield session

    @contextmanager
    def test_session(
        self,
        graph: graphs.Graph | None = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[sessions.Session]:
        """Open a session for `graph`, or the session of this test if there is no `graph`."""
        if graph is not None:
            with self.session(graph, config, use_gpu, force_gpu) as session:
                yield session
        else:
            with self._cached(graph, config, use_gpu, force_gpu) as session:
                yield session

    def checkedThread(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> testing_threads.CheckedThread:
        """Return a thread that fails the test if `target` raises. The test must join it."""
        thread = testing_threads.CheckedThread(self, target, args, kwargs)
        self._threads.append(thread)
        return thread

    @contextmanager
    def _cached(
        self, graph: graphs.Graph | None, config: Any, use_gpu: bool, force_gpu: bool
    ) -> Iterator[sessions.Session]:
        if self._cached_session is None:
            self._cached_session = _session(graph, config, force_gpu)
            self._cached_arguments = graph, config, force_gpu
        with _placed(self._cached_session, use_gpu, force_gpu):
            yield self._cached_session

    def _close_session(self) -> None:
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None


def _session(graph: graphs.Graph | None, config: Any, force_gpu: bool) -> sessions.Session:
    if config is None:
        from tensorboard.compat.proto import config_pb2

        config = config_pb2.ConfigProto(allow_soft_placement=not force_gpu)
    return sessions.Session(graph=graph, config=config)


@contextmanager
def _placed(session: sessions.Session, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    """Make a session and its graph the default, and place the block's operations."""
    with ExitStack() as blocks:
        blocks.enter_context(session.graph.as_default())
        blocks.enter_context(session.as_default())
        if force_gpu or not use_gpu:
            device = "/device:GPU:0" if force_gpu else "/device:CPU:0"
            blocks.enter_context(session.graph.device(device))
        yield


@functools.cache
def get_temp_dir() -> str:
    """Return a folder for the tests of this process. It is removed when the process ends."""
    import atexit

    folder = tempfile.mkdtemp(prefix=os.environ.get("TEST_TMPDIR"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
