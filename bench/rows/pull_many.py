"""Pull a hundred variables of 1 MB from a ps."""

import contest
import transfers

ROW = transfers.row("pull 100 x 1 MB", "GB/s", 1, transfers.pull, 100, 250_000)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
