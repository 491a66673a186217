"""One thread of linear algebra per process: the same results on every machine, and no
processes that compete.
"""

# Read by the libraries when they are loaded, so this must be in the environment before
# numpy is imported.
ONE_BLAS_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
