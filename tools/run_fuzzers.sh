#!/usr/bin/env bash
# run_fuzzers.sh BUILD_DIR SECONDS [NAME…]: runs each fuzz target for SECONDS from its kept corpus,
# two at a time when there are two cores. New inputs stay in BUILD_DIR/fuzz/found/<name>/; an input
# that breaks something is kept in BUILD_DIR/fuzz/broken/ and named: copy it to fuzz/corpus/<name>/.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
seconds=$2
shift 2
cd "$root"
mkdir -p "$build/fuzz/broken" "$build/fuzz/log"

names=("$@")
if [ "${#names[@]}" -eq 0 ]; then
  for program in "$build"/fuzz/fuzz_*; do
    [ -x "$program" ] && names+=("$(basename "$program" | sed 's/^fuzz_//')")
  done
fi
if [ "${#names[@]}" -eq 0 ]; then
  echo "error: no fuzz target in $build/fuzz; build the asan-ubsan preset first" >&2
  exit 1
fi

fuzz_one() {
  local name=$1 found=$build/fuzz/found/$1 log=$build/fuzz/log/$1
  mkdir -p "$found"
  # A bound on each input's time and memory is part of the check: no parser may hang or balloon.
  if "$build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -max_len=65536 -print_final_stats=1 -artifact_prefix="$build/fuzz/broken/$name-" \
      "$found" "$root/fuzz/corpus/$name" >"$log" 2>&1; then
    echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
  else
    tail -n 40 "$log"
    echo "fuzz $name: BROKEN (log above; the input is in $build/fuzz/broken/)"
    return 1
  fi
}
export -f fuzz_one
export build root seconds
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$1"' _ {}
