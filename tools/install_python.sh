#!/usr/bin/env bash
# install_python.sh REQUIREMENTS: makes .venv hold exactly the pinned wheels of the list. A stamp
# named after the list's hash makes a second run return at once.
set -euo pipefail

requirements=$1
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/.venv
python=${PYTHON:-python3}
hash=$(sha256sum "$requirements" | cut -c1-16)
stamp=$venv/.installed-$(basename "$requirements" .txt)-$hash
[ ! -e "$stamp" ] || exit 0

if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "error: '$python' is not a Python ≥ 3.11 with venv. On Debian 12: apt-get install python3-venv;" \
    "elsewhere name one: make test PYTHON=/path/to/python3.11" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "installing the wheels of $requirements into .venv (some minutes, once)"
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    -r "$requirements" </dev/null; then
  echo "error: pip failed (above). Without a network, give pip a folder of wheels:" \
    "PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels make test" >&2
  exit 1
fi
touch "$stamp"
