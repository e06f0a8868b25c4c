"""`capstanctl delete`: delete a job. Only a claim of its own takes its checkpoints with it."""

import argparse
import asyncio

from capstan_operator.cli import places


def delete(options: argparse.Namespace) -> int:
    """Delete the job, say what happened, and return the exit status.

    Raises errors.OperatorError.
    """
    print(asyncio.run(_delete(options)))
    return 0


async def _delete(options: argparse.Namespace) -> str:
    async with places.opened(options) as place:
        return await place.delete(await place.get(options.job))
