"""Jobs that a worker gives back."""

from collections.abc import Sequence

from counterpoise.client import Client
from counterpoise.errors import RequestFailed
from counterpoise.worker.worker_log import WorkerLog


def release_jobs(client: Client, leases: Sequence[str], log: WorkerLog) -> None:
    try:
        client.release(leases)
    except RequestFailed as error:
        log.warning(
            f"releasing jobs failed; otherwise their leases expire: {error}",
            jobs=len(leases),
        )
