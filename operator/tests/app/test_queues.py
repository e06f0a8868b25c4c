"""The operator gives back the quota of a job that is over."""

import asyncio
from pathlib import Path

from app import one_job
from app.one_job import KEY, POD, make_job, succeeded
from kube.server import refusal

MARK = "kueue.x-k8s.io/retriable-in-group"


def test_a_refused_mark_is_tried_again_in_each_pass_and_an_accepted_one_is_not(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with one_job.setting(tmp_path) as here:
            here.job = make_job()
            here.job["spec"]["scheduling"] = {"queueName": "training"}
            here.start()
            await here.runs()
            here.has(**succeeded())
            patch = f"PATCH {POD}"
            here.refuse[patch] = lambda asked: refusal(403, "Forbidden")
            await here.settle()
            assert here.job["status"]["phase"] == "Succeeded"
            here.asked()
            await here.controller.reconcile(KEY)
            assert patch in here.asked()
            here.refuse.clear()
            marked = {**here.pods[POD]}
            marked["metadata"] = {**marked["metadata"], "annotations": {MARK: "false"}}
            here.pods[POD] = marked
            here.has(**succeeded())
            await here.controller.reconcile(KEY)
            assert patch not in here.asked()

    asyncio.run(scenario())
