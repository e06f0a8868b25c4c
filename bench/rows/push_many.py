"""Push a hundred variables of 1 MB to a ps, which adds the values to its own variables."""

import contest
import sides
import transfers

COUNT, ELEMENTS = 100, 250_000


def prepare(place: contest.Place) -> contest.Step:
    return transfers.push(place, COUNT, ELEMENTS)


ROW = contest.Row(
    "push 100 x 1 MB",
    "GB/s",
    1,
    prepare,
    (sides.REFERENCE, sides.RESOURCE),
    ps=1,
    bytes_moved=4 * COUNT * ELEMENTS,
    window_s=1,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
