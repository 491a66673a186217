"""A Dask cluster inside Slurm: requests nodes while there is work, and releases them."""

import signal

from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    cluster = SLURMCluster(
        queue="compute",
        account="PROJECT",
        cores=1,  # parallel evaluations in one Slurm job
        job_cpu=16,  # cores for each of them
        memory="32 GB",
        walltime="04:00:00",
        worker_extra_args=[
            "--lifetime",
            "235m",
            "--lifetime-stagger",
            "4m",
        ],  # end before Slurm ends the job
        scheduler_options={"port": 8786},
    )
    cluster.adapt(minimum_jobs=0, maximum_jobs=64)
    print(
        "workers connect with: --executor",
        cluster.scheduler_address.replace("tcp://", "dask://"),
    )
    signal.pause()
