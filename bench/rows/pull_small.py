"""Pull a thousand variables of 1 KB from a ps."""

import contest
import transfers

ROW = transfers.row("pull 1000 x 1 KB", "ms", 1, transfers.pull, 1000, 250)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
