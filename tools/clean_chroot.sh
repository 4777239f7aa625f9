#!/usr/bin/env bash
# clean_chroot.sh: proves on a fresh Debian 12 that `make demo` and `make test` install what they
# need. Makes a minimal system with debootstrap, clones the committed tree into it, runs each target
# twice and prints the seconds of every run. Needs root. Nothing of this machine is visible inside
# but what the options name.
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/clean_chroot.sh [options] FOLDER
  FOLDER               where the system is made; one that exists is used again only with --reuse
  --mirror URL         Debian mirror for debootstrap (default http://deb.debian.org/debian)
  --apt-sources FILE   sources list to use inside, as sources.list or deb822
  --apt-conf FILE      apt configuration to use inside
  --pip-conf FILE      pip configuration to use inside
  --provide PATH       a file or folder to show inside at the same path, read-only (repeatable):
                       certificates, a folder of wheels
  --targets "A B"      make targets, in order (default "demo test")
  --reuse              use FOLDER's base system again; the clone is always fresh
END
  exit "$1"
}

mirror=http://deb.debian.org/debian
apt_sources='' apt_conf='' pip_conf='' targets='demo test' reuse=0 folder=''
provided=()
while [ $# -gt 0 ]; do
  case $1 in
    --mirror) mirror=$2; shift 2 ;;
    --apt-sources) apt_sources=$2; shift 2 ;;
    --apt-conf) apt_conf=$2; shift 2 ;;
    --pip-conf) pip_conf=$2; shift 2 ;;
    --provide) provided+=("$(realpath "$2")"); shift 2 ;;
    --targets) targets=$2; shift 2 ;;
    --reuse) reuse=1; shift ;;
    -h | --help) usage 0 ;;
    -*) echo "error: unknown option $1" >&2; usage 2 ;;
    *) folder=$1; shift ;;
  esac
done
[ -n "$folder" ] || usage 2
[ "$(id -u)" -eq 0 ] || { echo "error: run as root: chroot and mount need it" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "error: apt-get install debootstrap" >&2; exit 1; }

source_tree=$(cd "$(dirname "$0")/.." && pwd)
if [ -e "$folder" ] && [ "$reuse" -eq 0 ]; then
  echo "error: $folder exists; remove it, or pass --reuse" >&2
  exit 1
fi
if [ ! -e "$folder" ]; then
  echo "making a minimal Debian 12 in $folder"
  debootstrap --variant=minbase --include=ca-certificates,make bookworm "$folder" "$mirror" \
    >"$folder.log" 2>&1 || { tail -n 20 "$folder.log" >&2; exit 1; }
fi
folder=$(cd "$folder" && pwd)

if [ -n "$apt_sources" ]; then
  rm -f "$folder/etc/apt/sources.list"
  case $apt_sources in
    *.sources) cp "$apt_sources" "$folder/etc/apt/sources.list.d/" ;;
    *) cp "$apt_sources" "$folder/etc/apt/sources.list" ;;
  esac
fi
[ -z "$apt_conf" ] || cp "$apt_conf" "$folder/etc/apt/apt.conf.d/90local"
[ -z "$pip_conf" ] || cp "$pip_conf" "$folder/etc/pip.conf"
cp /etc/resolv.conf /etc/hosts "$folder/etc/"
rm -rf "$folder/trilith"
git clone -q --no-hardlinks "$source_tree" "$folder/trilith"
echo "clone of $(git -C "$folder/trilith" log -1 --format='%h %s')"

inside() {
  # A mount and process namespace of its own: nothing stays mounted, no process stays alive.
  unshare --mount --pid --fork bash -euc '
    folder=$1; shift
    mount -t proc proc "$folder/proc"
    mkdir -p "$folder/dev/shm" && mount -t tmpfs tmpfs "$folder/dev/shm"
    while [ "$1" != -- ]; do
      if [ -d "$1" ]; then mkdir -p "$folder$1"; else
        mkdir -p "$(dirname "$folder$1")"; touch "$folder$1"; fi
      mount --bind -o ro "$1" "$folder$1"; shift
    done
    shift
    exec chroot "$folder" env -i HOME=/root LANG=C.UTF-8 CI=true \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "$1" </dev/null
  ' _ "$folder" "${provided[@]}" -- "$1"
}

failed=0
for target in $targets; do
  for run in first second; do
    start=$SECONDS
    log=$folder.$target-$run.log
    verdict=passed
    inside "cd /trilith && make -s $target" >"$log" 2>&1 || { verdict=FAILED failed=1; tail -n 30 "$log"; }
    echo "make $target, $run run: $verdict in $((SECONDS - start)) s (log: $log)"
  done
done
exit "$failed"
