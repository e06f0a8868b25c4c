"""The memory of a giant request goes back to the system."""

import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import background
import clusters
import numpy as np
import psutil
import pytest

import capstan as tf

SOURCES = pathlib.Path(__file__).parents[2] / "src"
SIZE = 16 << 20
"""The number of float32 in a giant: 64 MiB, as much memory as a server without work has."""
BOUND = 80 << 20
"""The server's bound on requests: one giant fits, and two do not."""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.alone,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="glibc has malloc_trim"),
]


def test_a_server_keeps_no_memory_of_giant_requests() -> None:
    giant = np.arange(SIZE, dtype=np.float32)
    (address,) = clusters.addresses(1)
    flags = ("--cluster", json.dumps({"worker": [address]}), "--job", "worker", "--task", "0")
    process = subprocess.Popen(
        [sys.executable, "-m", "capstan", "serve", *flags],
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "OPENBLAS_NUM_THREADS": "1",
            "CAPSTAN_MAX_REQUEST_BYTES": str(BOUND),
        },
    )

    def resident() -> int:
        return int(psutil.Process(process.pid).memory_info().rss)

    try:
        x = tf.placeholder(tf.float32, [None])
        largest: Any = tf.reduce_max(x)
        with tf.Session(f"grpc://{address}") as session:
            assert session.run(largest, {x: [1.0, 2.0]}) == 2.0
            before = resident()
            for _ in range(3):
                assert session.run(largest, {x: giant}) == SIZE - 1
                background.until(lambda: resident() < before + giant.nbytes // 2)
            outcomes = at_once(lambda: session.run(largest, {x: giant}), 4)
            refused = [each for each in outcomes if each != SIZE - 1]
            assert all("CAPSTAN_MAX_REQUEST_BYTES" in str(each) for each in refused), refused
            assert session.run(largest, {x: [1.0, 2.0]}) == 2.0
            background.until(lambda: resident() < before + giant.nbytes // 2)
    finally:
        process.terminate()
        process.wait(60)


def at_once(call: Any, count: int) -> list[Any]:
    """Make `count` calls at the same time. Return their results or errors."""
    outcomes: list[Any] = []

    def note() -> None:
        try:
            outcomes.append(call())
        except tf.errors.ResourceExhaustedError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=note) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
