#!/usr/bin/env bash
# check_format.sh: every C++ file is as clang-format 14 writes it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files -co --exclude-standard '*.cc' '*.h' | while read -r file; do
  [ ! -f "$file" ] || echo "$file"
done)
if ! clang-format-14 --dry-run -Werror "${files[@]}"; then
  echo "format: run make format"
  exit 1
fi
echo "format: ${#files[@]} files as clang-format writes them"
