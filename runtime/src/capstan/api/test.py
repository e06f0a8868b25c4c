"""`tf.test`: tests of programs that use Capstan (python/platform/test.py)."""

import os
import re
import socket
import sys
import unittest
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from capstan.api import benchmark, flags
from capstan.api.absent import absent
from capstan.api.benchmark import Benchmark
from capstan.api.gradient_checker import compute_gradient, compute_gradient_error
from capstan.api.stubs import StubOutForTesting
from capstan.api.testing_case import TestCase, get_temp_dir
from capstan.client import device_lib
from capstan.core import cluster

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "create_local_cluster",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the flags, run all tests of the main module, and end the process.

    With the argument `--benchmarks=REGEX`, run the benchmarks that match, and return.
    """
    arguments = flags.parse(list(sys.argv if argv is None else argv))
    for argument in arguments:
        if argument.startswith(benchmark.FLAG):
            benchmark.run_matching(argument.removeprefix(benchmark.FLAG))
            return
    unittest.main(argv=arguments)


def test_src_dir_path(relative_path: str) -> str:
    """Return the path of a file of the tests, below the folder in the variable TEST_SRCDIR."""
    return os.path.join(os.environ["TEST_SRCDIR"], "org_tensorflow/tensorflow", relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]  # pytest: it is not a test


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return whether this process has a GPU of at least this compute capability. Blocks.

    `cuda_only` makes no difference, because every GPU of Capstan is used through CUDA.
    """
    return any(
        found.device_type == "GPU"
        and (
            min_cuda_compute_capability is None
            or _capability(found.physical_device_desc) >= tuple(min_cuda_compute_capability)
        )
        for found in device_lib.list_local_devices()
    )


def _capability(description: str) -> tuple[int, int]:
    """Return the compute capability in the physical description of a device, or (0, 0)."""
    found = re.search(r"compute capability: (\d+)\.(\d+)", description)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def gpu_device_name() -> str:
    """Return the name of a GPU of this process, such as `/device:GPU:0`, or "". Blocks."""
    names = (each.name for each in device_lib.list_local_devices() if each.device_type == "GPU")
    return next(names, "")


def is_built_with_cuda() -> bool:
    """Return whether the package for GPUs, CuPy, is installed."""
    import importlib.util

    return importlib.util.find_spec("cupy") is not None


def is_built_with_gpu_support() -> bool:
    """Return whether the package for GPUs, CuPy, is installed."""
    return is_built_with_cuda()


def is_built_with_rocm() -> bool:
    """Return False: Capstan does not support GPUs of AMD."""
    return False


def benchmark_config() -> Any:
    """Return a ConfigProto with which TensorFlow's optimizer removes no control dependencies."""
    from tensorboard.compat.proto import config_pb2, rewriter_config_pb2

    config = config_pb2.ConfigProto()
    rewrites = config.graph_options.rewrite_options
    rewrites.dependency_optimization = rewriter_config_pb2.RewriterConfig.OFF
    return config


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Any], list[Any]]:
    """Start the servers of a cluster in this process. Return the workers and the ps servers."""
    from capstan.services import server

    with _held_ports(num_workers + num_ps) as ports:
        spec = cluster.ClusterSpec(
            {
                "worker": [f"localhost:{port}" for port in ports[:num_workers]],
                "ps": [f"localhost:{port}" for port in ports[num_workers:]],
            }
        )
        workers = [
            server.Server(spec, "worker", index, protocol, worker_config)
            for index in range(num_workers)
        ]
        ps = [server.Server(spec, "ps", index, protocol, ps_config) for index in range(num_ps)]
    return workers, ps


@contextmanager
def _held_ports(count: int) -> Iterator[list[int]]:
    """Hold free ports during the block. The kernel gives them to nobody else meanwhile.

    A server can listen on a held port, because both sockets have SO_REUSEADDR and nothing listens
    on the port yet.
    """
    with ExitStack() as held:
        ports = []
        for _ in range(count):
            holder = held.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("localhost", 0))
            ports.append(holder.getsockname()[1])
        yield ports


def assert_equal_graph_def(
    actual: Any,
    expected: Any,
    checkpoint_v2: bool = False,
    hash_table_shared_name: bool = False,
) -> None:
    """Check that two GraphDefs have the same nodes, in any order.

    The last two arguments have no effect: Capstan's graphs hold no names that are drawn by chance.

    Raises:
        AssertionError: a node is missing, is not expected, or differs.
        TypeError: an argument is not a GraphDef.
    """
    from tensorboard.compat.proto import graph_pb2

    for name, graph in (("actual", actual), ("expected", expected)):
        if not isinstance(graph, graph_pb2.GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
    found = {node.name: node for node in actual.node}
    for node in expected.node:
        if node.name not in found:
            raise AssertionError(f"Did not find expected node '{node.name} = {node.op}'")
        if found[node.name] != node:
            raise AssertionError(f"Node named '{node.name}' is {found[node.name]}, expected {node}")
        del found[node.name]
    for name, node in found.items():
        raise AssertionError(f"Found unexpected node '{name} = {node.op}'")


def __getattr__(name: str) -> Any:
    raise absent("tf.test", name)
