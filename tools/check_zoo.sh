#!/usr/bin/env bash
# check_zoo.sh BUILD_DIR: what `trilith inspect` makes of tests/zoo must not fall behind what was reached,
# and nothing may be wrong and confident. Raise the two shares when they rise.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$PWD/$1/trilith
for line in "documented 0.985" "stripped 0.96"; do
  read -r variant least <<<"$line"
  .venv/bin/python tools/score_zoo.py tests/zoo --variant "$variant" --min "$least" --max-wrong 0 \
    --cmd "$program inspect {case} --json {out} --unpack {dense}" | tail -n 4
done
