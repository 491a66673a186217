"""Worker processes that use one core each and never outlive the benchmark."""

import os
from multiprocessing import parent_process
from threading import Thread

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def pin_threads() -> None:
    """One BLAS thread in every process started from here on; they read these when numpy is loaded."""
    os.environ.update(dict.fromkeys(THREADS, "1"))


def end_with_parent() -> None:
    """In a worker process: however the benchmark is killed, no worker is left behind."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
