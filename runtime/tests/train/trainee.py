"""One task of a training with between-graph replication, for the tests that kill tasks.

    python trainee.py JOB INDEX CLUSTER FOLDER LAST_STEP KIND

A worker prints the line `session` for each new session, and the global step of each run. KIND is
`asynchronous`, `synchronous`, `limited`: synchronous training that waits for the gradients of a
worker for at most half a second, or `supervisor`: asynchronous training by a Supervisor.
"""

import json
import sys
from typing import Any

import capstan as tf


class AnnounceSession(tf.train.SessionRunHook):
    """Prints the line `session` for each new session."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        print("session", flush=True)


def main(
    job: str, index: int, cluster: dict[str, list[str]], folder: str, last: int, kind: str
) -> None:
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    this_task = f"/job:{job}/task:{index}"
    with tf.device(tf.train.replica_device_setter(worker_device=this_task, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("weights", [8, 8])
        loss = tf.reduce_sum(tf.square(weights))
        optimizer: Any = tf.train.AdamOptimizer()
        hooks = [tf.train.StopAtStepHook(last_step=last), AnnounceSession()]
        if kind in ("synchronous", "limited"):
            limit = 0.5 if kind == "limited" else None
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, len(cluster["worker"]), stall_timeout_secs=limit
            )
            hooks.append(optimizer.make_session_run_hook(index == 0))
        train = optimizer.minimize(loss, global_step=step)
    if kind == "supervisor":
        supervise(train, step, folder, server.target, is_chief=index == 0)
        return
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=index == 0,
        checkpoint_dir=folder,
        save_checkpoint_secs=0.2,
        hooks=hooks,
        config=tf.ConfigProto(device_filters=["/job:ps", this_task]),
    ) as session:
        while not session.should_stop():
            print(session.run([train, step])[1], flush=True)


def supervise(train: Any, step: Any, folder: str, target: str, *, is_chief: bool) -> None:
    """Train in sessions of a Supervisor, which go on from the newest checkpoint."""
    supervisor = tf.train.Supervisor(
        is_chief=is_chief, logdir=folder, global_step=step, save_model_secs=0.2, summary_op=None
    )
    last: Any = None

    def run(session: Any) -> None:
        nonlocal last
        if session is not last:
            print("session", flush=True)
            last = session
        print(session.run([train, step])[1], flush=True)

    tf.train.basic_train_loop(supervisor, run, master=target)


if __name__ == "__main__":
    job, index, cluster, folder, last, kind = sys.argv[1:]
    tf.logging.set_verbosity(tf.logging.INFO)
    main(job, int(index), json.loads(cluster), folder, int(last), kind)
