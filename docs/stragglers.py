"""Train with a slow or a dead worker in four, and draw the accuracy and the number of updates.

    stragglers.py docs/stragglers.svg

One parameter server and four workers are processes of their own. They train on scikit-learn's
digits. The program measures from outside: it reads the variables of the parameter server.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

import capstan as tf

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples" / "digits"))

import digits  # noqa: E402

WORKERS = 4
SECONDS = 8.0
"""The time of one training, from its first update."""
INPUT_SECONDS = 0.02
"""The time in which a worker gets a batch."""
SLOW_INPUT_SECONDS = 0.2
LOSS_AFTER = 3.0
"""The time after which the last worker is killed, if it is."""
RATE, MOMENTUM, UNITS = 0.1, 0.9, 32
MAX_STALENESS, STALL_SECONDS = 8, 0.06
METHODS = {
    "asynchronous": "#7f7f7f",
    "staleness-aware": "#1f77b4",
    "staleness-aware, bound": "#17becf",
    "synchronous": "#d62728",
    "synchronous, time limit": "#ff7f0e",
}
TROUBLES = {
    "none": ("Four equal workers", tuple(METHODS)),
    "slow": ("One of four workers is ten times slower", tuple(METHODS)),
    "dead": ("One of four workers is killed after 3 s", tuple(METHODS)),
}
Sample = tuple[float, int, float]
"""The time in seconds, the number of updates, and the accuracy."""


def model(images: Any) -> Any:
    """Return the logits of a network with one hidden layer."""
    initial = tf.glorot_uniform_initializer(seed=1)
    for name, (fan_in, units) in {"hidden": (64, UNITS), "output": (UNITS, 10)}.items():
        weights = tf.get_variable(f"{name}/weights", [fan_in, units], initializer=initial)
        biases = tf.get_variable(f"{name}/biases", [units], initializer=tf.zeros_initializer())
        images = tf.matmul(images, weights) + biases
        if name == "hidden":
            images = tf.nn.relu(images)
    return images


def momentum(rate: Any) -> Any:
    return tf.train.MomentumOptimizer(rate, MOMENTUM)


def optimizer_of(method: str) -> Any:
    if method == "asynchronous":
        return momentum(RATE)
    if method.startswith("staleness"):
        bound = MAX_STALENESS if "bound" in method else None
        return tf.train.StalenessAwareOptimizer(momentum, RATE, max_staleness=bound)
    limit = STALL_SECONDS if "limit" in method else None
    return tf.train.SyncReplicasOptimizer(momentum(RATE), WORKERS, stall_timeout_secs=limit)


def work(cluster: dict[str, list[str]], index: int, method: str, seconds: float) -> None:
    """Train as worker `index`, whose batches take `seconds` each."""
    task = f"/job:worker/task:{index}"
    server = tf.train.Server(cluster, "worker", index)
    batches = digits.batches(digits.load()[0], 32, seed=index)

    def batch() -> tuple[Any, ...]:
        threading.Event().wait(seconds)
        return tuple(next(batches))

    hooks = []
    with tf.device(tf.train.replica_device_setter(worker_device=task, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        images, labels = tf.py_func(batch, [], [tf.float32, tf.int64])
        images.set_shape([None, 64])
        labels.set_shape([None])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(images))
        optimizer = optimizer_of(method)
        train = optimizer.minimize(tf.reduce_mean(losses), global_step=step)
        if method.startswith("synchronous"):
            hooks.append(optimizer.make_session_run_hook(index == 0))
    config = tf.ConfigProto(device_filters=["/job:ps", task])
    with tf.train.MonitoredTrainingSession(
        server.target, is_chief=index == 0, hooks=hooks, config=config
    ) as session:
        while True:
            session.run(train)


@contextmanager
def tasks(method: str, trouble: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the tasks of a training. Yield the address of the ps and the last worker."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(5)]
        ps, *workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    cluster = {"ps": [ps], "worker": workers}
    started = []
    try:
        for index in range(-1, WORKERS):
            is_slow = trouble == "slow" and index == WORKERS - 1
            seconds = SLOW_INPUT_SECONDS if is_slow else INPUT_SECONDS
            task = [json.dumps(cluster), str(index), method, str(seconds)]
            started.append(subprocess.Popen([sys.executable, __file__, "task", *task]))
        yield ps, started[-1]
    finally:
        for process in started:
            process.kill()
            process.wait()


def measured(method: str, trouble: str) -> list[Sample]:
    """Train once, and return a sample for each quarter of a second."""
    test = digits.load()[1]
    samples: list[Sample] = []
    with tf.Graph().as_default(), tasks(method, trouble) as (ps, last_worker):
        with tf.device("/job:ps/task:0"):
            step = tf.train.get_or_create_global_step()
            model(tf.zeros([1, 64]))
        ready = tf.report_uninitialized_variables()
        with tf.Session(
            f"grpc://{ps}", config=tf.ConfigProto(device_filters=["/job:ps"])
        ) as session:
            while len(session.run(ready)) or session.run(step) == 0:
                threading.Event().wait(0.02)
            began, is_lost = time.monotonic(), trouble != "dead"
            while (now := time.monotonic() - began) < SECONDS:
                if not is_lost and now > LOSS_AFTER:
                    last_worker.send_signal(signal.SIGKILL)
                    is_lost = True
                updates, values = session.run([step, tf.trainable_variables()])
                samples.append((now, int(updates), _accuracy(values, test)))
                threading.Event().wait(0.25)
    return samples


def _accuracy(values: list[Any], test: digits.Examples) -> float:
    weights, biases, output_weights, output_biases = values
    hidden = np.maximum(test.images @ weights + biases, 0)
    guesses = np.argmax(hidden @ output_weights + output_biases, axis=1)
    return float(np.mean(guesses == test.labels))


def svg(results: dict[str, dict[str, list[Sample]]]) -> str:
    """Draw the accuracy and the updates over time, with one column for each kind of trouble."""
    width, height, gap = 300, 170, 60
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(results) * (width + gap) + 20} '
        '560" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    most = max(sample[1] for runs in results.values() for run in runs.values() for sample in run)
    panels = (("accuracy", 2, 1.0, 0.5), ("updates", 1, float(most), 0.0))
    for column, (trouble, runs) in enumerate(results.items()):
        left = gap + column * (width + gap)
        out.append(f'<text x="{left}" y="22" font-weight="bold">{TROUBLES[trouble][0]}</text>')
        for row, (title, field, top, bottom) in enumerate(panels):
            y = 40 + row * (height + 50)
            out += axes(left, y, width, height, title, (bottom, top))
            for method, samples in runs.items():
                points = " ".join(
                    f"{left + width * sample[0] / SECONDS:.1f},"
                    f"{y + height * (1 - _share(float(sample[field]), bottom, top)):.1f}"
                    for sample in samples
                )
                out.append(
                    f'<polyline points="{points}" fill="none" stroke="{METHODS[method]}" '
                    'stroke-width="1.8"/>'
                )
    for number, (method, colour) in enumerate(METHODS.items()):
        x = gap + number * 195
        out.append(f'<rect x="{x}" y="520" width="18" height="4" fill="{colour}"/>')
        out.append(f'<text x="{x + 24}" y="526">{method}</text>')
    return "\n".join([*out, "</svg>", ""])


def _share(value: float, bottom: float, top: float) -> float:
    return (max(value, bottom) - bottom) / (top - bottom)


def axes(
    x: int,
    y: int,
    width: int,
    height: int,
    title: str,
    ends: tuple[float, float],
    seconds: float = SECONDS,
) -> list[str]:
    """Draw the frame of a panel with a title, the ends of its values, and the end of its time."""
    labels = [f"{end:.0%}" if title == "accuracy" else f"{end:.0f}" for end in ends]
    end = f'text-anchor="end" x="{x - 6}"'
    return [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>',
        f'<text {end} y="{y + height}">{labels[0]}</text>',
        f'<text {end} y="{y + 10}">{labels[1]}</text>',
        f'<text {end} y="{y + height / 2:.0f}">{title}</text>',
        f'<text text-anchor="end" x="{x + width}" y="{y + height + 15}">{seconds:.0f} s</text>',
    ]


def table(results: dict[str, dict[str, list[Sample]]]) -> str:
    """Return a table in Markdown: the updates and the accuracy at the end of each training."""
    rows = ["| method | " + " | ".join(TROUBLES[trouble][0] for trouble in results) + " |"]
    rows.append("|---" * (1 + len(results)) + "|")
    for method in METHODS:
        cells = []
        for runs in results.values():
            last = [sample for sample in runs[method] if sample[0] > SECONDS - 3]
            accuracy = [sample[2] for sample in last]
            cells.append(f"{last[-1][1]} updates, {min(accuracy):.1%} to {max(accuracy):.1%}")
        rows.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main(target: str) -> None:
    results: dict[str, dict[str, list[Sample]]] = {
        trouble: {method: measured(method, trouble) for method in methods}
        for trouble, (_, methods) in TROUBLES.items()
    }
    pathlib.Path(target).write_text(svg(results), encoding="utf-8")
    print(table(results))


def task(cluster: str, index: str, method: str, seconds: str) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    if index == "-1":
        tf.train.Server(json.loads(cluster), "ps", 0).join()
    else:
        work(json.loads(cluster), int(index), method, float(seconds))


if __name__ == "__main__":
    if sys.argv[1] == "task":
        task(*sys.argv[2:])
    else:
        main(sys.argv[1])
