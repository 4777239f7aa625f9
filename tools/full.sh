#!/usr/bin/env bash
# full.sh: everything long, after .ci/run: slow tests with ten times the generated examples, SmolLM2-135M
# against transformers, ten minutes for each fuzz target, clang-tidy over every source. Hours.
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
smollm2=out/smollm2
[ -e "$smollm2/config.json" ] || step smollm2 .venv/bin/python tools/fetch_smollm2.py "$smollm2"
export TRILITH_SMOLLM2=$PWD/$smollm2
TRILITH_FULL=1 TRILITH_BUILD=$PWD/build/release TRILITH_PROGRAM=$PWD/build/release/trilith \
  step slow-tests .venv/bin/python -m pytest -q
step fuzz tools/run_fuzzers.sh build/asan-ubsan 600
step clang-tidy tools/run_tidy.sh build/asan-ubsan --all

[ "${#failed[@]}" -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
echo "all of make full passed in $SECONDS s"
