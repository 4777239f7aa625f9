"""Every packing of tests/zoo can be spelled as a spec, and decodes to the library's values."""

import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest
import zoo_spec

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRILITH_BUILD", ROOT / "build" / "release"))
PROGRAM = BUILD / "tests" / "decode_by_spec"
sys.path.insert(0, str(ROOT / "tools"))
import score_zoo  # noqa: E402

CASES = [folder for folder in score_zoo.cases_in(ROOT / "tests/zoo")
         if not folder.name.startswith("refuse-")]
# Two numbers make one scale there, and a matrix keeps their product.
DECODE_ONLY = ("two_level",)


def headers(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return ({n: e["dtype"] for n, e in header.items()}, {n: e["shape"] for n, e in header.items()})


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_decodes_to_the_truth(folder, tmp_path):
    case = score_zoo.Case(folder)
    path = folder / case.truth["variants"]["stripped"]
    dtypes, shapes = headers(path)
    request = []
    for module in case.truth["modules"]:
        spec, roles = zoo_spec.strict_spec(case.truth["spec"], module, "stripped", dtypes, shapes)
        request.append({"file": str(path), "name": module["dense"], "shape": module["shape"],
                        "spec": spec, "tensors": roles})
    (tmp_path / "request.json").write_text(json.dumps(request))
    done = subprocess.run([PROGRAM, tmp_path / "request.json", tmp_path / "dense.safetensors"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    errors = [r["error"] for r in reports if "error" in r]
    assert not errors, f"{errors[0]}\n{json.dumps(request[0]['spec'])}"
    dense = score_zoo.tensors_of((tmp_path / "dense.safetensors").read_bytes())
    for name, wanted in case.dense.items():
        error = np.abs(dense[name].astype(np.float64) - wanted).max() / np.abs(wanted).max()
        assert error <= score_zoo.TOLERANCE, f"{name}: error {error:.3g}"
    if not any(word in str(case.truth["spec"]["law"]) for word in DECODE_ONLY):
        assert {r["encoded"] for r in reports} == {"equal"}
