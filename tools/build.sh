#!/usr/bin/env bash
# build.sh BUILD_DIR all|program JOBS: configures the release tree when needed and builds it. `program`
# needs no test library, so it configures without tests unless the tree has them already.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1 what=$2 jobs=$3
log=$build/configure.log
mkdir -p "$build"

configure() {
  if ! cmake --preset release "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "error: cmake could not configure (above). A tree made elsewhere? make clean, then again." >&2
    exit 1
  fi
}

has_tests() { grep -q '^TRILITH_TESTS:BOOL=ON' "$build/CMakeCache.txt" 2>/dev/null; }

if [ "$what" = all ]; then
  [ -e "$build/build.ninja" ] && has_tests || configure
  cmake --build "$build" -j "$jobs"
else
  [ -e "$build/build.ninja" ] || configure -DTRILITH_TESTS=OFF
  cmake --build "$build" -j "$jobs" --target trilith
fi
