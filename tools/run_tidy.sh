#!/usr/bin/env bash
# run_tidy.sh BUILD_DIR [--all]: clang-tidy over the C++ sources that changed against the merge base
# with the main branch, or, on that branch itself, against the commit before; --all takes every one.
# A changed header counts as a change of the source of the same name. BUILD_DIR is a clang tree.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
changed() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
  fi
  { git diff --name-only "$base"; git ls-files -o --exclude-standard; } | sed 's/\.h$/.cc/'
}
all() { git ls-files -co --exclude-standard; }

list=changed
[ "${2:-}" != --all ] || list=all
mapfile -t files < <($list | grep -E '^(src|tests|fuzz|bench)/.*\.cc$' | sort -u | while read -r file; do
  [ -f "$file" ] && grep -q "/$file\"" "$build/compile_commands.json" && echo "$file"
done || true)
if [ "${#files[@]}" -eq 0 ]; then
  echo "clang-tidy: no source changed"
  exit 0
fi
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy-14 --quiet -p "$build" --warnings-as-errors='*' 2> >(
    grep -v 'warnings generated\|^$' >&2)
echo "clang-tidy: ${#files[@]} files without a finding"
