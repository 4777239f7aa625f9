#!/usr/bin/env python3
"""Refuses weak symbols in objects compiled for one instruction set.

An inline or template function built with, say, AVX-512 flags and left as a weak symbol can be the
copy the linker picks for the whole program, which then dies on older processors. Which objects
those are is read from the build's compile_commands.json: every command with an -m<feature> or
-march flag. Usage: check_weak_symbols.py BUILD_DIR
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

from check_common import ROOT, finish

ISA_FLAG = re.compile(r"-m(arch=|cpu=|avx|amx|fma|f16c|bmi|sse|sve|gfni|vpcl)")
WEAK_KINDS = {"W", "V", "u"}  # defined weak function, defined weak object, unique global


def isa_objects(build: pathlib.Path) -> list[pathlib.Path]:
    commands = json.loads((build / "compile_commands.json").read_text())
    objects = []
    for entry in commands:
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        if any(ISA_FLAG.match(argument) for argument in arguments):
            output = entry.get("output") or arguments[arguments.index("-o") + 1]
            objects.append(pathlib.Path(entry["directory"]) / output)
    return objects


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: check_weak_symbols.py BUILD_DIR")
    build = pathlib.Path(sys.argv[1])
    findings: list[str] = []
    objects = [path for path in isa_objects(build) if path.suffix == ".o"]
    if not objects and (ROOT / "src" / "kernels").is_dir():
        findings.append(f"{build}: no object with an instruction-set flag, so nothing was checked")
    for path in objects:
        if not path.is_file():
            findings.append(f"{path}: not built; build the tree first")
            continue
        listing = subprocess.run(["nm", "--demangle", str(path)], check=True, capture_output=True,
                                 text=True).stdout
        for line in listing.splitlines():
            fields = line.split(None, 2)
            if len(fields) == 3 and fields[1] in WEAK_KINDS:
                findings.append(f"{path.name}: weak symbol {fields[2]}: keep std types and inline "
                                "functions out of this file, or give them internal linkage")
    finish("weak symbols", findings, f"{len(objects)} objects built for one instruction set")


if __name__ == "__main__":
    main()
