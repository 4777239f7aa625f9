#!/usr/bin/env python3
"""Holds every #include and every library dependency of src/ against the table of rooms.

Four rules:
  1. a room includes only itself and the rooms its row allows, by path from src/;
  2. a room links only rooms its row allows (DEPS in its CMakeLists.txt);
  3. a library of others is included only where it is wrapped;
  4. a public header, one that another room includes, leaks no library, directly or through the
     headers it includes (base/, which everything sees, may use fmt).
The table is read from docs/ARCHITECTURE.md; a room without a row there is refused.
"""

import pathlib
import re

from check_common import CXX_SUFFIXES, ROOT, finish, tracked_files

# Where a library of others may be included: a pattern of the include, a pattern of the file.
WRAPPED = [
    (r"nlohmann/", r"base/json\.cc", "JSON goes through base/json.h"),
    (r"CLI/", r"cli/.*", "arguments are parsed in cli/ alone"),
    (r"pcre2", r"text/.*\.cc", "regular expressions stay behind text/"),
    (r"\w+intrin\.h|arm_\w+\.h", r"kernels/(\w+/.*|float_environment\.h)",
     "intrinsics live in an instruction set's folder of kernels/"),
    (r"cuda", r"cuda/.*", "CUDA stays behind cuda/"),
    (r"(gtest|gmock|rapidcheck|benchmark)\b", r"", "test libraries stay outside src/"),
]

# What a public header may not bring along: everything wrapped, and fmt outside base/.
LEAKS = re.compile("|".join(pattern for pattern, _, _ in WRAPPED) + r"|fmt/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEPENDENCY = re.compile(r"\btrilith::(\w+)")
TABLE_HEAD = "| room | may include |"
ANYTHING = {"anything"}


def read_table() -> dict[str, set[str]]:
    """Room -> rooms it may include, from the rows under TABLE_HEAD."""
    lines = (ROOT / "docs" / "ARCHITECTURE.md").read_text().splitlines()
    allowed = {"base": set()}
    for line in lines[lines.index(TABLE_HEAD) + 2:]:
        if not line.startswith("|"):
            break
        rooms, others = (re.sub(r"\(.*?\)", "", cell) for cell in line.strip("|").split("|"))
        for room in re.findall(r"\w+", rooms):
            allowed[room] = set(re.findall(r"\w+", others))
    return allowed


ALLOWED = read_table()


def may(room: str, other: str) -> bool:
    return other == room or ALLOWED[room] == ANYTHING or other in ALLOWED[room]


def check_file(path: pathlib.Path, findings: list[str]) -> int:
    room, in_src = path.parts[1], "/".join(path.parts[1:])
    count = 0
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        count += 1
        quote, target = match.groups()
        where = f"{path}:{number}"
        if quote == "<":
            findings += [f"{where}: <{target}> may not be included here: {reason}"
                         for pattern, places, reason in WRAPPED
                         if re.match(pattern, target) and not re.fullmatch(places, in_src)]
        elif not (ROOT / "src" / target).is_file():
            findings.append(f'{where}: "{target}" is no file of src/; name includes from src/, '
                            f'as "{room}/…"')
        elif not may(room, target.split("/")[0]):
            findings.append(f'{where}: {room} may not include {target.split("/")[0]} ("{target}"); '
                            f"allowed: {' '.join(sorted(ALLOWED[room])) or 'nothing'}")
    return count


def leaks_of_public_headers(sources: list[pathlib.Path]) -> list[str]:
    """Rule 4. Headers are named as they are included, from src/."""
    includes = {str(path.relative_to("src")): [
        match.groups() for line in (ROOT / path).read_text().splitlines()
        if (match := INCLUDE.match(line))] for path in sources}
    seen_by = {}  # header -> a file of another room that sees it
    for name, targets in includes.items():
        for quote, target in targets:
            if quote == '"' and target.split("/")[0] != name.split("/")[0]:
                seen_by.setdefault(target, name)
    waiting = list(seen_by)
    while waiting:
        header = waiting.pop()
        for quote, target in includes.get(header, []):
            if quote == '"' and target not in seen_by:
                seen_by[target] = seen_by[header]
                waiting.append(target)
    return [f"src/{header}: <{target}> in a header that src/{user} sees: move it to a .cc"
            for header, user in sorted(seen_by.items())
            if not header.startswith(("base/", "kernels/float_environment"))
            for quote, target in includes.get(header, []) if quote == "<" and LEAKS.match(target)]


def check_dependencies(path: pathlib.Path, findings: list[str]) -> None:
    room = path.parts[1]
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        for library in DEPENDENCY.findall(line.split("#")[0]):
            # A room may be several libraries, as kernels and kernels_avx2.
            owner = library if library in ALLOWED else library.split("_")[0]
            if not may(room, owner):
                findings.append(f"{path}:{number}: {room} may not link trilith::{library}")


def main() -> None:
    findings: list[str] = []
    rooms, includes = set(), 0
    sources = []
    for path in tracked_files():
        if path.parts[0] != "src" or len(path.parts) < 3:
            continue
        if path.parts[1] not in ALLOWED:
            findings.append(f"{path}: room '{path.parts[1]}' has no row in docs/ARCHITECTURE.md")
        elif path.suffix in CXX_SUFFIXES:
            includes += check_file(path, findings)
            rooms.add(path.parts[1])
            sources.append(path)
        elif path.name == "CMakeLists.txt":
            check_dependencies(path, findings)
    findings += leaks_of_public_headers(sources)
    finish("includes", findings, f"{includes} includes in {len(rooms)} rooms")


if __name__ == "__main__":
    main()
