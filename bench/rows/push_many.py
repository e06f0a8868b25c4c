"""Push a hundred variables of 1 MB to a ps, which adds the values to its own variables."""

import contest
import transfers

ROW = transfers.row("push 100 x 1 MB", "GB/s", 1, transfers.push, 100, 250_000)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
