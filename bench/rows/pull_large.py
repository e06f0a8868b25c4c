"""Pull one variable of 100 MB from a ps."""

import contest
import transfers

ROW = transfers.row("pull 100 MB, one variable", "GB/s", 2, transfers.pull, 1, 25_000_000)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
