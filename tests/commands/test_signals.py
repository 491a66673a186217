"""Which signals end a command that runs a study."""

import signal
from collections.abc import Iterator

import pytest

from counterpoise.commands.signals import end_on_signals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = [(number, signal.getsignal(number)) for number in SIGNALS]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def test_sigint_ends_a_background_job_of_a_script() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_on_signals()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_exit_code_names_the_signal(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)  # under nohup SIGHUP is ignored
    end_on_signals()
    with pytest.raises(SystemExit) as exit_:
        signal.raise_signal(number)
    assert exit_.value.code == 128 + number


def test_sighup_stays_ignored_under_nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    end_on_signals()
    signal.raise_signal(signal.SIGHUP)
