#!/usr/bin/env bash
# install_packages.sh LIST…: installs the Debian packages named in the lists that are missing.
# Asks no question and touches nothing when all are there.
set -euo pipefail

packages=$(sed 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sed '/^$/d' | sort -u)
if ! command -v dpkg-query >/dev/null; then
  echo "This is not a Debian-like system, so nothing is installed here. Needed by their Debian names:"
  echo "$packages" | tr '\n' ' '
  echo
  exit 0
fi

missing=()
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: missing packages, and neither root nor sudo is at hand. As root, run:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
  apt-get install -y -q --no-install-recommends "${missing[@]}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -q && "${install[@]}"; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "error: apt-get failed (above). By hand: apt-get update && apt-get install ${missing[*]}" >&2
  exit 1
fi
