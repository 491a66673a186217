"""A small worker for one objective of the plate; ends when the study is finished."""

import argparse
import time

import httpx

from tests.e2e.plate_study import TAKES_S, evaluate


def work(client: httpx.Client, name: str, study: str, objective: str) -> None:
    ask = {"worker": name, "studies": [study], "objectives": [objective], "wait_s": 10}
    while True:
        answer = client.post("/ask", json=ask).raise_for_status().json()
        for job in answer["jobs"]:
            began = time.monotonic()
            value, also = evaluate(objective, job["x"])
            time.sleep(TAKES_S[objective])
            told = {
                "job": job["job"],
                "lease": job["lease"],
                "value": value,
                "also": also,
            }
            client.post(
                "/tell", json=told | {"duration_s": time.monotonic() - began}
            ).raise_for_status()
        if answer["reason"] == "finished":
            return
        if not answer["jobs"]:
            time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "study", "objective"):
        parser.add_argument(name)
    given = parser.parse_args()
    with httpx.Client(base_url=given.url, timeout=60) as client:
        work(client, f"{given.objective} worker", given.study, given.objective)


if __name__ == "__main__":
    main()
