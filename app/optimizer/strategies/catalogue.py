"""All strategies by name."""

from dataclasses import replace

from app.optimizer.models.training_data import (
    clustered_subset,
    random_subset,
    true_cheap,
)
from app.optimizer.proposal.acquisition import no_penalty
from app.optimizer.strategies.counterpoise.step import COUNTERPOISE
from app.optimizer.strategies.fast_first import FAST_FIRST
from app.optimizer.strategies.fit_search_select import fit_search_select
from app.optimizer.strategies.hk_rvea import HK_RVEA
from app.optimizer.strategies.interleaving import (
    BROOD_INTERLEAVING,
    SPECULATIVE_INTERLEAVING,
)
from app.optimizer.strategies.k_rvea import K_RVEA
from app.optimizer.strategies.parego import PAREGO
from app.optimizer.strategies.random_search import RANDOM
from app.optimizer.strategies.strategy import ModelFamily, Strategy
from app.optimizer.strategies.transfer.t_saea import T_SAEA
from app.optimizer.strategies.transfer.tc_saea import TC_SAEA
from app.optimizer.strategies.transfer.tr_saea import TR_SAEA
from app.optimizer.strategies.true_rvea import TRUE_RVEA
from app.optimizer.strategies.trust_region.mht import MHT
from app.optimizer.strategies.within_limits import limited, on_objectives

SBP_BO = Strategy(step=fit_search_select)

# With a rule of their own for limits
LIMITED = {
    "sbp-bo": SBP_BO,
    "bo-aaf": replace(SBP_BO, penalty=no_penalty),
    "sbp-bo-r": replace(SBP_BO, train=random_subset),
    "sbp-bo-c": replace(SBP_BO, train=clustered_subset),
    "sbp-nogpc": replace(SBP_BO, train=true_cheap),
    "counterpoise": COUNTERPOISE,
    "random": replace(RANDOM, step=on_objectives(RANDOM.step)),
}
UNLIMITED = {
    "k-rvea": K_RVEA,
    "hk-rvea": HK_RVEA,
    "rvea": TRUE_RVEA,
    "parego": PAREGO,
    "fast-first": FAST_FIRST,
    "brood-interleaving": BROOD_INTERLEAVING,
    "speculative-interleaving": SPECULATIVE_INTERLEAVING,
    "t-saea": T_SAEA,
    "tr-saea": TR_SAEA,
    "tc-saea": TC_SAEA,
    "mht": MHT,
}
STRATEGIES = LIMITED | {name: limited(strategy) for name, strategy in UNLIMITED.items()}

# Strategies whose models can be chosen, with what a study has unless it declares them;
# the benchmarks of the paper have `paper`
SERVICE_MODELS: dict[str, ModelFamily] = {
    "sbp-bo": "evidence",
    "bo-aaf": "evidence",
    "counterpoise": "evidence",
}
