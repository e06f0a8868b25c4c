"""A killed process gives the memory of its GPU back. Only a real GPU can show this."""

import os
import signal
import subprocess
import sys

import accelerated
import background
import pytest

from capstan.hardware import cuda

cupy = pytest.importorskip("cupy", reason=accelerated.WITHOUT_CUPY)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.alone,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not accelerated.IS_REAL, reason=cuda.missing()),
]

HELD_BYTES = 256 << 20
SLACK_BYTES = 32 << 20
"""Other programs may use the GPU, too."""
HOLDER = """
import sys
import capstan as tf

with tf.device("/gpu:0"):
    held = tf.Variable(tf.zeros([int(sys.argv[1]) // 4]))
options = tf.GPUOptions(allow_growth=sys.argv[2] == "grows", per_process_gpu_memory_fraction=0.3)
session = tf.Session(config=tf.ConfigProto(gpu_options=options))
session.run(held.initializer)
print("up", flush=True)
while True:
    session.run(held.op)
"""


def free_bytes() -> int:
    """Return how much memory of the GPU no process uses."""
    return int(cupy.cuda.runtime.memGetInfo()[0])


@pytest.mark.parametrize("takes", ["grows", "all"])
def test_a_killed_process_gives_its_memory_of_a_gpu_back(takes: str) -> None:
    before = free_bytes()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(HELD_BYTES), takes],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": str(takes == "grows").lower()},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert free_bytes() <= before - HELD_BYTES
        process.send_signal(signal.SIGKILL)
        process.wait()
        background.until(lambda: free_bytes() >= before - SLACK_BYTES)
    finally:
        process.kill()
        process.communicate()
