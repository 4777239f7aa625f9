"""What the check scripts share: the tracked files of the tree, and one way to report.

A check prints its findings one a line (`file:line: what, and what to do`), then one summary line,
and exits 1 when there was a finding.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CXX_SUFFIXES = {".cc", ".h", ".cu", ".cuh"}


def tracked_files() -> list[pathlib.Path]:
    """Files git tracks or would track (new ones count before they are added), relative to ROOT."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, check=True, capture_output=True).stdout.decode()
    paths = (pathlib.Path(name) for name in listing.split("\0") if name)
    return sorted({path for path in paths if (ROOT / path).is_file()})


def finish(name: str, findings: list[str], summary: str) -> None:
    for finding in findings:
        print(finding)
    print(f"{name}: {summary}; {len(findings)} finding{'' if len(findings) == 1 else 's'}")
    sys.exit(1 if findings else 0)
