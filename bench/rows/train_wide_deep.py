"""Asynchronous wide and deep training: one ps with all tables, two workers that read files."""

import contest
import recommender
import sides


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    cluster = tf.train.ClusterSpec(place.cluster)
    this_task = f"/job:worker/task:{place.index}"
    with tf.device(tf.train.replica_device_setter(worker_device=this_task, cluster=cluster)):
        loss = recommender.loss(tf, place.folder)
        step = tf.train.get_or_create_global_step()
        train = recommender.optimizer(tf).minimize(loss, global_step=step)
    session = tf.train.MonitoredTrainingSession(
        master=place.target,
        is_chief=place.index == 0,
        config=tf.ConfigProto(device_filters=["/job:ps", this_task]),
    )
    return lambda: session.run([train, loss, step])


ROW = contest.Row(
    "async training, wide and deep from TFRecord files, 1 ps + 2 workers",
    "steps/s",
    1,
    prepare,
    (sides.REFERENCE, sides.RESOURCE),
    ps=1,
    workers=2,
    window_s=2,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
