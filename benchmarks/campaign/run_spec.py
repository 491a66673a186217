"""One run of a campaign: a strategy of ours, in the paper's protocol or in virtual
time, or another library.
"""

from threadpoolctl import threadpool_limits

from benchmarks.campaign import wall_clock
from benchmarks.campaign.variants import VARIANTS
from benchmarks.paper import protocol
from benchmarks.paper.results import Outcome, Spec
from benchmarks.peers import catalogue


def run(spec: Spec, code: str = "") -> Outcome:
    """With one BLAS thread, wherever it runs: others round differently."""
    with threadpool_limits(limits=1):
        if spec.strategy in catalogue.PEERS:
            return catalogue.run(spec, code)
        if spec.slots > 0:
            return wall_clock.run(spec, code)
        if spec.strategy in VARIANTS:
            return protocol.run(spec, code, VARIANTS)
        return protocol.run(spec, code)
