# One image for server, planner, workers and commands: `docker build -t counterpoise .`
# The base image is pinned by version. For builds that are reproducible byte for byte, pin it by digest
# (python:3.13-slim-bookworm@sha256:…).
ARG PYTHON=3.13

FROM python:${PYTHON}-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
WORKDIR /source
RUN python -m venv --without-pip /opt/counterpoise
COPY locks/runtime.txt locks/
# Wheels only, because the image has no compiler.
RUN pip --python /opt/counterpoise install --require-hashes --only-binary :all: -r locks/runtime.txt
COPY pyproject.toml README.md ./
COPY alembic alembic
COPY app app
COPY counterpoise counterpoise
COPY workers workers
RUN pip --python /opt/counterpoise install --no-deps --no-build-isolation . \
 && pip --python /opt/counterpoise uninstall --yes editables hatchling \
 && find /opt/counterpoise -type d -name tests -prune -exec rm -r {} +

FROM python:${PYTHON}-slim-bookworm
# /data: the SQLite file, if PostgreSQL is not used. /spool: results of workers while the server is unavailable.
RUN useradd --uid 10001 --create-home counterpoise \
 && mkdir /data /spool \
 && chown counterpoise /data /spool
COPY --from=build /opt/counterpoise /opt/counterpoise
ENV PATH=/opt/counterpoise/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 \
    COUNTERPOISE_HOST=0.0.0.0 \
    COUNTERPOISE_DATABASE_URL=sqlite:////data/counterpoise.db
USER 10001
WORKDIR /home/counterpoise
EXPOSE 8000
# Checks `serve`, the default command. Disable it for other commands in this image.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["counterpoise"]
CMD ["serve"]
