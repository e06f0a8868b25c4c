"""Kill a parameter server that has a queue, with and without the queue in the checkpoint.

    restarts.py docs/restarts.svg

One worker takes 300 elements from a queue on the parameter server and counts each of them. The
parameter server is killed once and restarted at once. The program draws the count over time.
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

import stragglers

import capstan as tf

ELEMENTS, KILL_AT = 300, 130
SECONDS = 16.0
COLOURS = {"with": "#1f77b4", "without": "#d62728"}
Sample = tuple[float, int]
"""The time in seconds, and the number of elements that were counted."""


def work(cluster: dict[str, list[str]], kind: str, folder: str) -> None:
    """Count the elements of the queue. Print the count after each step."""
    server = tf.train.Server(cluster, "worker", 0)
    with tf.device("/job:ps/task:0"):
        step = tf.train.get_or_create_global_step()
        counts = tf.get_variable("counts", [ELEMENTS], initializer=tf.zeros_initializer())
        queue = tf.FIFOQueue(ELEMENTS, tf.int64, shapes=(), shared_name="work")
        with tf.control_dependencies([queue.enqueue_many([tf.range(ELEMENTS, dtype=tf.int64)])]):
            fill = queue.close()
        if kind == "with":
            saveable = tf.train.make_saveable_from_queue(queue)
            tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        counted = tf.assign_add(counts, tf.one_hot(queue.dequeue(), ELEMENTS))
        with tf.control_dependencies([counted]):
            train = tf.group(tf.assign_add(step, 1))
    scaffold = tf.train.Scaffold(init_op=tf.group(tf.global_variables_initializer(), fill))
    with tf.train.MonitoredTrainingSession(
        server.target,
        checkpoint_dir=folder,
        scaffold=scaffold,
        save_checkpoint_secs=None,
        save_checkpoint_steps=50,
    ) as session:
        while not session.should_stop():
            threading.Event().wait(0.01)
            session.run(train)
            values = session.run(counts)
            assert values.max() <= 1  # no element counts twice
            print(int(values.sum()), flush=True)


def measured(kind: str) -> list[Sample]:
    """Run the worker for some seconds, and kill its parameter server once."""
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        ps, worker = (f"127.0.0.1:{each.getsockname()[1]}" for each in (first, second))
    cluster = json.dumps({"ps": [ps], "worker": [worker]})
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "task", cluster, kind, folder]
        servers = [subprocess.Popen([*command, "ps"])]
        process = subprocess.Popen([*command, "worker"], stdout=subprocess.PIPE, text=True)
        timer: threading.Timer | None = None
        assert process.stdout is not None
        for line in process.stdout:
            now = time.monotonic()
            if timer is None:
                began = now
                timer = threading.Timer(SECONDS, process.kill)
                timer.start()
            samples.append((now - began, int(line)))
            if samples[-1][1] == KILL_AT and len(servers) == 1:
                servers[0].kill()
                servers[0].wait()
                servers.append(subprocess.Popen([*command, "ps"]))
        for task in (process, *servers):
            task.kill()
            task.wait()
        if timer is not None:
            timer.cancel()
    return samples


def svg(results: dict[str, list[Sample]]) -> str:
    """Draw the counts over time."""
    x, y, width, height = 70, 20, 500, 200
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 280" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *stragglers.axes(x, y, width, height, "counted", (0, ELEMENTS), SECONDS),
    ]
    for number, (kind, samples) in enumerate(results.items()):
        ends = [*samples, (max(SECONDS, samples[-1][0]), samples[-1][1])]
        points = " ".join(
            f"{x + width * min(1, seconds / SECONDS):.1f},{y + height * (1 - count / ELEMENTS):.1f}"
            for seconds, count in ends
        )
        out.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[kind]}" stroke-width="2"/>'
        )
        left = x + number * 240
        out.append(f'<rect x="{left}" y="258" width="18" height="4" fill="{COLOURS[kind]}"/>')
        out.append(f'<text x="{left + 24}" y="264">{kind} the queue in the checkpoint</text>')
    return "\n".join([*out, "</svg>", ""])


def main(target: str) -> None:
    results = {kind: measured(kind) for kind in COLOURS}
    pathlib.Path(target).write_text(svg(results), encoding="utf-8")
    for kind, samples in results.items():
        print(f"{kind} the queue in the checkpoint: {samples[-1][1]} of {ELEMENTS} counted")


def task(cluster: str, kind: str, folder: str, job: str) -> None:
    if job == "ps":
        tf.train.Server(json.loads(cluster), "ps", 0).join()
    else:
        work(json.loads(cluster), kind, folder)


if __name__ == "__main__":
    if sys.argv[1] == "task":
        task(*sys.argv[2:])
    else:
        main(sys.argv[1])
