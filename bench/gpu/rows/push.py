"""Push a variable of a worker's GPU to a ps. The size is its number of float32 elements."""

from gpu import row, transfers

ROW = transfers.transfer(
    "push 100 MB from a GPU, one variable", transfers.push, transfers.to_pinned
)

if __name__ == "__main__":
    row.main(ROW, __spec__)
