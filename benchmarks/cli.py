"""`counterpoise bench`: every command is one line of `COMMANDS`."""

import typer

from benchmarks.commands.campaign import campaign
from benchmarks.commands.constrained import constrained
from benchmarks.commands.mixed import mixed
from benchmarks.commands.paper import inspect, paper
from benchmarks.commands.report import report
from benchmarks.commands.service import service, store
from benchmarks.commands.simulate import simulate
from benchmarks.commands.slot_use import slot_use
from benchmarks.commands.slots import belief, slots
from benchmarks.commands.speed import accuracy, gp, step

COMMANDS = (
    paper,
    campaign,
    report,
    inspect,
    constrained,
    mixed,
    gp,
    step,
    accuracy,
    simulate,
    slots,
    belief,
    slot_use,
    store,
    service,
)

bench = typer.Typer(
    help="Benchmarks: the paper's protocol, campaigns, models, steps, simulated workers, the store, the service.",
    no_args_is_help=True,
)
for command in COMMANDS:
    bench.command()(command)


if __name__ == "__main__":
    bench()
