#!/usr/bin/env bash
# demo.sh PROGRAM: the whole story on the shipped model, which announces nothing about its weights.
# Each step uses what the one before it left; the exit status is that of the first step that failed.
set -uo pipefail
cd "$(dirname "$0")/.."

program=$1
model=models/sample
out=build/demo
rm -rf "$out"
mkdir -p "$out"

# The filter between a step's results and the reader.
show=(cat)

# step WHAT COMMAND…: shows the command as a user would type it, runs it, stops the demo if it fails.
step() {
  local what=$1 start=$SECONDS
  shift
  printf '\n=== %s\n$ trilith %s\n' "$what" "$(printf '%q ' "$@")"
  "$program" "$@" </dev/null | "${show[@]}"
  local code=${PIPESTATUS[0]}
  if [ "$code" -ne 0 ]; then
    printf '\ndemo: FAILED: %s (exit code %d: 1 runtime, 2 usage, 3 verification, 4 input)\n' \
      "$what" "$code" >&2
    exit "$code"
  fi
  printf '(%d s)\n' $((SECONDS - start))
}

step 'Reverse: what do these bytes mean?' \
  inspect "$model" --json "$out/sheet.json" --md "$out/sheet.md"
echo "The full sheet, with the evidence for every field: $out/sheet.md"

# The verdict and, of some 90 points, what every layer ends in.
show=(awk -v full="$out/ledger.txt" \
  '{ print >full } NR <= 6 || /^(embed|layers\.[0-9]+\.out|logits) / { print }')
step 'Reconcile: does the engine compute what the weights say?' \
  verify "$model" --sheet "$out/sheet.json" --baseline "$model/golden.safetensors" \
  --json "$out/ledger.json"
show=(cat)
echo "Every point: $out/ledger.txt; the ledger: $out/ledger.json"

step 'Run: is it fast, and still right?' \
  run "$model" --sheet "$out/sheet.json" -p 'One day, a little girl named Lily' --greedy --json "$out/run.json"

printf '\ndemo: identified, verified, and ran, in %d s\n' "$SECONDS"
