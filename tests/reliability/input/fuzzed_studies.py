"""The studies of a server under schemathesis."""

JOB_SOURCE = "job-source"  # never stopped or deleted, so that asks get jobs
TARGET = "target"  # may be changed by any request
BYSTANDER = "bystander"  # named by no request, so it must not change
