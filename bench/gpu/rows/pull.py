"""Pull a variable of a ps to the GPU of a worker. The size is its number of float32 elements."""

from gpu import row, transfers

ROW = transfers.transfer(
    "pull 100 MB to a GPU, one variable", transfers.pull, transfers.from_pinned
)

if __name__ == "__main__":
    row.main(ROW, __spec__)
