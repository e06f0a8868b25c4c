"""`capstanctl explain`: say why a job does not run, and what to do."""

import argparse
import asyncio
from datetime import UTC, datetime

from capstan_operator.cli import documents, paint, places
from capstan_operator.report import explanation
from capstan_operator.report.explanation import Explanation


def explain(options: argparse.Namespace) -> int:
    """Print the explanation of a job; return the exit status. Raises errors.OperatorError."""
    found = asyncio.run(_explanation(options))
    if options.output is not None:
        documents.show([found.document()], options.output)
        return 0
    with_colours = paint.is_wanted()
    for line in found.lines():
        is_heading = not line.startswith(" ")
        print(paint.bold(line) if with_colours and is_heading else line)
    return 0


async def _explanation(options: argparse.Namespace) -> Explanation:
    async with places.opened(options) as place:
        job = await place.get(options.job)
        return explanation.explain(job, datetime.now(UTC))
