#!/usr/bin/env bash
# full.sh: everything long, after .ci/run: slow tests with ten times the generated examples, ten
# minutes for each fuzz target, clang-tidy over every source. Hours, not minutes.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  "$@" || failed+=("$name")
  printf '%s: %d s\n' "$name" $((SECONDS - start))
}

step ci bash .ci/run
TRILITH_FULL=1 TRILITH_BUILD=$PWD/build/release TRILITH_PROGRAM=$PWD/build/release/trilith \
  step slow-tests .venv/bin/python -m pytest -q
step fuzz tools/run_fuzzers.sh build/asan-ubsan 600
step clang-tidy tools/run_tidy.sh build/asan-ubsan --all

[ "${#failed[@]}" -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
echo "all of make full passed in $SECONDS s"
