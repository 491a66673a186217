"""A job as a server leases it."""

from counterpoise.wire.work import Job

X = {"span": 2.5, "ribs": 7}
JOB = Job(
    job=5,
    lease="0" * 32,
    study="wing",
    sample=17,
    objective="drag",
    also=["lift"],
    x=X,
    attempt=2,
    seed=99,
    expires_at="",
    heartbeat_s=20.0,
    timeout_s=None,
)
