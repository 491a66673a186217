"""`python -m benchmarks.attacks.run [sqlite|postgresql]`: attack servers on both
databases, or on one, and print what each attack cost. About three minutes each.
"""

import json
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from app.store.database import Database
from app.store.upgrade import upgrade
from benchmarks.attacks.attacks import ATTACKS, Figures, frozen_database
from benchmarks.attacks.target import attacked_server
from benchmarks.service.postgresql import running_postgresql


def main(*databases: str) -> None:
    if "sqlite" in databases:
        with tempfile.TemporaryDirectory() as folder:
            attack(f"sqlite:///{Path(folder) / 'attacked.db'}", "sqlite")
    if "postgresql" in databases:
        with running_postgresql() as postgresql:
            url = postgresql.create()
            with closing(Database(url)) as database:
                upgrade(database)
            attack(url, "postgresql")
            postmaster = postgresql.server.get_pid()
            if postmaster is not None:
                with attacked_server(url) as target:
                    figures = frozen_database(target, postmaster)
                show("postgresql", "frozen database", figures)


def attack(url: str, database: str) -> None:
    for name, run in ATTACKS.items():
        with attacked_server(url) as target:  # a new process: its memory is its own
            figures = run(target)
        show(database, name, figures)


def show(database: str, name: str, figures: Figures) -> None:
    line = {"database": database, "attack": name, **figures}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*(sys.argv[1:] or ("sqlite", "postgresql")))
