"""Apply Adam to one large variable. The size is its number of float32 elements.

Adam reads the gradient, the variable and two moments, and writes the variable and the moments.
These are seven accesses to memory, and a copy is two. The figures count the accesses, so the ratio
to the copy is the share of the bandwidth that Adam reaches. A step applies the same gradient
several times, which hides the start of a step and the single read of the gradient's variable.
"""

import contest
from gpu import capstan_side, row, torch_side

ELEMENTS = 256 << 20
TIMES = 8
RATE = 1e-3
ACCESSES = 7
COPY = "copy on the device"
FUSED = "PyTorch, fused"


def capstan(place: row.Place) -> contest.Step:
    tf = capstan_side.load()
    with tf.device(f"/{place.device}:0"):
        zeros = tf.zeros_initializer()
        variable = tf.get_variable("variable", place.sizes, initializer=zeros)
        source = tf.get_variable("gradient", place.sizes, initializer=tf.ones_initializer())
        gradient = tf.convert_to_tensor(source)
        steps = tf.get_variable("steps", [], initializer=zeros)
        optimizer = tf.train.AdamOptimizer(RATE)
        applied = tf.no_op()
        for _ in range(TIMES):
            with tf.control_dependencies([applied]):
                applied = optimizer.apply_gradients([(gradient, variable)])
        with tf.control_dependencies([applied]):
            counted = tf.assign_add(steps, 1.0)
        return capstan_side.step(place, counted)


def pytorch(place: row.Place) -> contest.Step:
    torch = torch_side.load()
    device = torch_side.DEVICES[place.device]
    variable = torch.zeros(place.sizes, device=device)
    variable.grad = torch.ones(place.sizes, device=device)
    optimizer = torch.optim.Adam([variable], lr=RATE, fused=True, capturable=place.device == "gpu")

    def work() -> None:
        for _ in range(TIMES):
            optimizer.step()

    apply = torch_side.captured(place.device, work)

    def step() -> None:
        apply()
        torch_side.synchronize(place.device)

    return step


def copy(place: row.Place) -> contest.Step:
    torch = torch_side.load()
    device = torch_side.DEVICES[place.device]
    source = torch.ones(place.sizes, device=device)
    destination = torch.empty_like(source)

    def step() -> None:
        for _ in range(TIMES):
            destination.copy_(source)
        torch_side.synchronize(place.device)

    return step


def moved(side: str, sizes: row.Sizes) -> float:
    """Return the bytes that a step of a side reads and writes."""
    return TIMES * (2 if side == COPY else ACCESSES) * 4 * sizes[0]


ROW = row.Row(
    "Adam, one variable of 1 GiB",
    "GB/s",
    (ELEMENTS,),
    {row.CAPSTAN: capstan, COPY: copy, FUSED: pytorch},
    goals={COPY: 0.8},
    work=moved,
)

if __name__ == "__main__":
    row.main(ROW, __spec__)
