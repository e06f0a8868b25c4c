"""Local: a shuffled batch of 128 lines of CSV files, which threads read and decode meanwhile."""

import os

import numpy as np

import contest
import sides

FILES, LINES, WIDTH, BATCH = 4, 2_500, 5, 128


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    names = tf.train.string_input_producer(write_files(place.folder))
    _, line = tf.TextLineReader().read(names)
    columns = tf.decode_csv(line, record_defaults=[[0.0]] * WIDTH)
    batch = tf.train.shuffle_batch(
        [tf.stack(columns[:-1]), columns[-1]],
        BATCH,
        capacity=4 * BATCH,
        min_after_dequeue=2 * BATCH,
        num_threads=2,
    )
    session = place.session()
    tf.train.start_queue_runners(session)
    return lambda: session.run(batch)


def write_files(folder: str) -> list[str]:
    """Write files with random numbers."""
    random = np.random.default_rng(0)
    files = []
    for number in range(FILES):
        files.append(os.path.join(folder, f"{number}.csv"))
        np.savetxt(files[-1], random.random((LINES, WIDTH)), "%.6f", ",")
    return files


ROW = contest.Row(
    "local: shuffle_batch of 128 lines of CSV, 2 threads",
    "steps/s",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
    window_s=2,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
