"""Train steps of the perceptrons of bench: gradient descent on batches of the host.

A step takes a batch from the host's memory and returns the loss to the host.
"""

import itertools

import contest
import perceptrons
from gpu import capstan_side, row, torch_side

CUDA_GRAPH = "PyTorch with CUDA graphs"


def step(title: str, sizes: row.Sizes) -> row.Row:
    """Return the row of a train step. `sizes` are the batch and the sizes of the layers."""
    return row.Row(
        title,
        "us",
        sizes,
        {row.CAPSTAN: _capstan, CUDA_GRAPH: _pytorch},
        goals={CUDA_GRAPH: 1},
    )


def _capstan(place: row.Place) -> contest.Step:
    tf = capstan_side.load()
    batch, *layers = place.sizes
    with tf.device(f"/{place.device}:0"):
        images, labels, loss = perceptrons.build(tf, layers)
        train = tf.train.GradientDescentOptimizer(perceptrons.RATE).minimize(loss)
    session = capstan_side.initialized_session(place)
    feeds = itertools.cycle(perceptrons.batches(layers, batch, seed=0))

    def run() -> object:
        pixels, classes = next(feeds)
        return session.run([train, loss], {images: pixels, labels: classes})[1]

    with capstan_side.refusals():
        run()
    return run


def _pytorch(place: row.Place) -> contest.Step:
    torch = torch_side.load()
    batch, *layers = place.sizes
    device = torch_side.DEVICES[place.device]
    model = torch.nn.Sequential()
    for index, (fan_in, units) in enumerate(itertools.pairwise(layers)):
        if index:
            model.append(torch.nn.ReLU())
        model.append(torch.nn.Linear(fan_in, units))
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=perceptrons.RATE, fused=True)
    entropy = torch.nn.CrossEntropyLoss()
    images = torch.zeros(batch, layers[0], device=device)
    labels = torch.zeros(batch, dtype=torch.int64, device=device)

    def work() -> object:
        optimizer.zero_grad(set_to_none=True)
        loss = entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    # PyTorch copies fastest from pinned memory.
    feeds = itertools.cycle(
        [
            [torch_side.pinned(place.device, torch.from_numpy(part)) for part in feed]
            for feed in perceptrons.batches(layers, batch, seed=0)
        ]
    )
    train = torch_side.captured(place.device, work)

    def run() -> object:
        pixels, classes = next(feeds)
        images.copy_(pixels, non_blocking=True)
        labels.copy_(classes, non_blocking=True)
        return train().item()

    return run
