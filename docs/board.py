"""Draw docs/tensorboard.png: TensorBoard shows the summaries of a program of Capstan.

    python docs/board.py

A program trains a classifier of handwritten digits and writes its summaries. Then TensorBoard
serves them on loopback, and a real browser takes the picture. This needs chromium, which Debian has
as a package. Nothing else calls this script.
"""

import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import numpy as np
from sklearn import datasets

import capstan as tf

PICTURE = pathlib.Path(__file__).with_name("tensorboard.png")
STEPS = 600
SECONDS = 60.0
"""The time that TensorBoard has to answer."""


def train(folder: str) -> None:
    """Train a softmax classifier, and write its loss, accuracy and weights at every tenth step."""
    digits = datasets.load_digits()
    images, labels = (digits.data / 16).astype(np.float32), digits.target.astype(np.int64)
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
    weights = tf.get_variable("weights", [64, 10], initializer=tf.zeros_initializer())
    logits = tf.matmul(x, weights)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    tf.summary.scalar("loss", loss)
    tf.summary.scalar("accuracy", accuracy)
    tf.summary.histogram("weights", weights)
    update = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    summaries, random = tf.summary.merge_all(), np.random.RandomState(0)
    with tf.Session() as session, tf.summary.FileWriter(folder, session.graph) as writer:
        session.run(tf.global_variables_initializer())
        for step in range(STEPS):
            batch = random.randint(len(images), size=100)
            feeds = {x: images[batch], y: labels[batch]}
            summary, _ = session.run([summaries, update], feeds)
            if step % 10 == 0:
                writer.add_summary(summary, step)


def photograph(folder: str, chromium: str) -> None:
    """Start TensorBoard on a free port, and take a picture of its first page."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    words = ["--logdir", folder, "--host", "127.0.0.1", "--port", address.rpartition(":")[2]]
    board = subprocess.Popen([sys.executable, "-m", "tensorboard.main", *words])
    try:
        until_served(f"{address}/data/plugin/scalars/tags", b"accuracy")
        subprocess.run(
            [
                *(chromium, "--headless=new", "--no-sandbox", "--hide-scrollbars"),
                # Without WebGL, TensorBoard draws its curves as SVG. A headless browser shows SVG.
                "--disable-3d-apis",
                *("--window-size=1300,900", "--virtual-time-budget=25000"),
                *(f"--screenshot={PICTURE}", f"{address}/#timeseries"),
            ],
            check=True,
            timeout=SECONDS * 2,
        )
    finally:
        board.terminate()
        board.wait()


def until_served(url: str, expected: bytes) -> None:
    """Wait until the answer of `url` contains `expected`.

    Raises:
        TimeoutError: it does not in SECONDS.
    """
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if expected in answer.read():
                    return
        except OSError:
            pass
        threading.Event().wait(0.2)
    raise TimeoutError(f"{url} did not show {expected!r} in {SECONDS:.0f} s")


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no browser: install chromium (apt-get install chromium), and run this again")
    with tempfile.TemporaryDirectory() as folder:
        train(folder)
        photograph(folder, chromium)
    print(f"wrote {PICTURE.name}: {PICTURE.stat().st_size / 1e3:.0f} KB")


if __name__ == "__main__":
    main()
