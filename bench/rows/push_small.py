"""Push a thousand variables of 1 KB to a ps, which adds the values to its own variables."""

import contest
import sides
import transfers

COUNT, ELEMENTS = 1000, 250


def prepare(place: contest.Place) -> contest.Step:
    return transfers.push(place, COUNT, ELEMENTS)


ROW = contest.Row(
    "push 1000 x 1 KB",
    "ms",
    1,
    prepare,
    (sides.REFERENCE, sides.RESOURCE),
    ps=1,
    bytes_moved=4 * COUNT * ELEMENTS,
    window_s=1,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
