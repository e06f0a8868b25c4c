"""Local: a step that does nothing."""

import contest
import sides


def prepare(place: contest.Place) -> contest.Step:
    nothing = place.tf.no_op()
    session = place.session()
    return lambda: session.run(nothing)


ROW = contest.Row("local: no-op step", "us", 1, prepare, (sides.POOL, sides.CALLER))

if __name__ == "__main__":
    contest.main(ROW, __spec__)
