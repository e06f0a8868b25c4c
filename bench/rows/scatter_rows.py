"""Subtract numbers from a thousand rows of a table on a ps."""

import contest
import embeddings

ROW = contest.Row(
    "scatter_sub 1000 rows of 64, table on a ps",
    "us",
    4,
    embeddings.scatter,
    embeddings.VARIABLES,
    ps=1,
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
