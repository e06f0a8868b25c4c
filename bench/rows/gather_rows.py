"""Fetch a thousand rows of a table on a ps."""

import contest
import embeddings

ROW = contest.Row(
    "gather 1000 rows of 64, table on a ps", "us", 8, embeddings.gather, embeddings.VARIABLES, ps=1
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
