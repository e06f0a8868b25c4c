"""Push a thousand variables of 1 KB to a ps, which adds the values to its own variables."""

import contest
import transfers

ROW = transfers.row("push 1000 x 1 KB", "ms", 1, transfers.push, 1000, 250)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
