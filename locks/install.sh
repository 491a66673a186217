#!/bin/sh
# Set up .venv from a lock file: `sh locks/install.sh runtime|dev`.
set -eu
lock=$1

suitable() {  # true if this Python runs, is new enough and can create environments
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# If the creation of an environment was interrupted, it has no pip and is created again.
if [ ! -x .venv/bin/python ] || ! suitable .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    found=
    for python in python3.14 python3.13 python3.12 python3.11 python3 python; do
        if suitable "$python"; then found=$python; break; fi
    done
    if [ -z "$found" ]; then
        echo "Counterpoise needs Python 3.11 or newer with its venv module; none was found on the PATH (on Debian: apt install python3 python3-venv)." >&2
        exit 1
    fi
    echo "Setting up .venv with $("$found" --version) ..."
    "$found" -m venv --clear .venv
fi

echo "Installing locks/$lock.txt ..."
.venv/bin/python -m pip install --quiet --require-hashes -r "locks/$lock.txt"
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
touch ".venv/.$lock"
[ "$lock" = runtime ] || touch .venv/.runtime  # dev includes the runtime
