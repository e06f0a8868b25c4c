"""Capstan's side of the rows about GPUs."""

import contextlib
import importlib.metadata
from collections.abc import Iterator, Mapping
from typing import Any

import contest
import sides
from gpu import row


def load() -> Any:
    """Return Capstan's `tf`."""
    return sides.load(sides.CAPSTAN_AS_IT_IS)


def config(tf: Any) -> Any:
    """Return the ConfigProto of sessions and servers. It leaves memory of the GPU to PyTorch."""
    return tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))


def start_server(cluster: Mapping[str, list[str]], role: str) -> str:
    """Start the server of the only task with this role, and return its address for sessions."""
    tf = load()
    target: str = tf.train.Server(cluster, role, 0, config=config(tf)).target
    return target


def initialized_session(place: row.Place) -> Any:
    """Open a session and initialize the variables.

    Raises:
        RefusedError: no kernel of the device serves an operation or a type of the graph.
    """
    tf = load()
    session = tf.Session(place.target, config=config(tf))
    with refusals():
        session.run(tf.global_variables_initializer())
    return session


def step(place: row.Place, result: Any) -> contest.Step:
    """Return a step that fetches `result`.

    `result` is a scalar that depends on all work of the step. The session has it when the device
    has finished.
    """
    session = initialized_session(place)
    with refusals():
        session.run(result)
    return lambda: session.run(result)


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Turn the error of a type or a graph that Capstan or the device lacks into RefusedError."""
    errors = load().errors
    try:
        yield
    except (TypeError, errors.InvalidArgumentError, errors.UnimplementedError) as fault:
        raise row.RefusedError(str(fault).splitlines()[0]) from fault


def versions(device: str) -> Mapping[str, Any]:
    """Return the versions of the packages that compute."""
    found = {"NumPy": importlib.metadata.version("numpy")}
    if device == "gpu":
        import cupy

        found["CuPy"] = cupy.__version__
        found["CUDA of CuPy"] = _dotted(cupy.cuda.runtime.runtimeGetVersion())
    return found


def _dotted(version: int) -> str:
    """Return CUDA's version 13020 as 13.2."""
    return f"{version // 1000}.{version % 1000 // 10}"
