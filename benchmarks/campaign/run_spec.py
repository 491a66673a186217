"""One run of a campaign: a strategy of ours, or another library."""

from benchmarks.paper import protocol
from benchmarks.paper.results import Outcome, Spec
from benchmarks.peers import catalogue


def run(spec: Spec, code: str = "") -> Outcome:
    if spec.strategy in catalogue.PEERS:
        return catalogue.run(spec, code)
    return protocol.run(spec, code)
