"""Push one variable of 100 MB to a ps, which adds the values to its own variable."""

import contest
import transfers

ROW = transfers.row("push 100 MB, one variable", "GB/s", 1, transfers.push, 1, 25_000_000)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
