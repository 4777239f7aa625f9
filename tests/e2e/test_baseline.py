"""`trilith baseline`: a golden trace in somebody's repository, and the line of CI that holds it."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from safetensors import safe_open
from safetensors.numpy import load_file, save_file

IDS = "[323, 324, 259, 316, 12, 312, 267, 259, 653, 418]\n[5, 700, 12, 300]\n"


def call(program, *arguments, code=0):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stdout[-500:], done.stderr)
    return done


@pytest.fixture(scope="module")
def repository(program, sample, tmp_path_factory):
    """A repository with the model and a baseline of four tokens a prompt."""
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(sample, root / "model", ignore=shutil.ignore_patterns("golden*", "SHEET*"))
    call(program, "inspect", root / "model", "--save")
    (root / "ids.jsonl").write_text(IDS)
    call(program, "baseline", "init", root / "golden", "--model", root / "model", "--ids",
         root / "ids.jsonl", "--rows", 4, "--seed", 3)
    return root


@pytest.fixture
def copy(repository, tmp_path):
    return shutil.copytree(repository, tmp_path / "copy")


def record(root):
    return json.loads((root / "golden" / "baseline.json").read_text())


def test_what_init_keeps(program, repository):
    kept = record(repository)
    assert kept["schema"] == "trilith.baseline/1" and kept["model"] == "../model"
    assert kept["prompts"] == 2 and kept["mode"] == "f32" and kept["reasons"] == ["the first"]
    golden = repository / "golden" / "golden.safetensors"
    tensors = load_file(golden)
    assert tensors["p0.layers.0.q_proj"].shape[0] == 4 and tensors["p0.ids"].shape == (10,)
    with safe_open(golden, "numpy") as trace:
        text = json.loads(trace.metadata()["trilith.trace"])
    assert text["level"] == "sampled" and text["model_fingerprint"] == kept["model_fingerprint"]
    error = call(program, "baseline", "init", repository / "golden", "--model", repository / "model",
                 "--ids", repository / "ids.jsonl", code=2).stderr
    assert "baseline update" in error


def test_check_passes_from_anywhere_and_moves_with_the_repository(program, copy, tmp_path):
    junit = tmp_path / "junit.xml"
    done = subprocess.run([str(program.resolve()), "baseline", "check", "golden", "--strict", "--junit",
                           str(junit)], capture_output=True, text=True, timeout=120, cwd=copy)
    assert done.returncode == 0 and done.stdout.startswith("verdict  clean"), done.stderr
    suite = ElementTree.parse(junit).getroot()
    assert suite.get("failures") == "0" and int(suite.get("tests")) == len(suite) > 50


def test_check_fails_at_the_first_wrong_point(program, copy, tmp_path):
    target = tmp_path / "port.safetensors"
    call(program, "trace", copy / "model", "--ids", copy / "ids.jsonl", "--backend", "engine", "-o", target)
    call(program, "baseline", "check", copy / "golden", "--target", target)
    tensors = load_file(target)
    with safe_open(target, "numpy") as trace:
        metadata = trace.metadata()
    tensors["p1.layers.4.v_proj"] *= 1.05
    save_file(tensors, target, metadata=metadata)
    junit, ledger = tmp_path / "junit.xml", tmp_path / "ledger.json"
    call(program, "baseline", "check", copy / "golden", "--target", target, "--junit", junit, "--json",
         ledger, "--html", tmp_path / "page.html", code=3)
    assert json.loads(ledger.read_text())["first"]["point"] == "layers.4.v_proj"
    failed = [case for case in ElementTree.parse(junit).getroot() if len(case)]
    faults = {fault["point"] for fault in json.loads(ledger.read_text())["faults"]}
    assert {case.get("name") for case in failed} == {"verdict: fault"} | faults
    assert "layers.4.v_proj" in failed[0][0].get("message")


def test_a_changed_weight_fails_the_check(program, copy):
    path = copy / "model" / "model.safetensors"
    tensors = load_file(path)
    codes = tensors["model.layers.3.mlp.gate_proj.weight_ternary"].copy()
    codes[11, 5] ^= 2 if codes[11, 5] & 3 == 0 else 3
    save_file(tensors | {"model.layers.3.mlp.gate_proj.weight_ternary": codes}, path)
    assert "layers.3.gate_proj" in call(program, "baseline", "check", copy / "golden", code=3).stdout
    # What is right may change: with a reason, and with the change shown.
    call(program, "baseline", "update", copy / "golden", code=2)
    call(program, "baseline", "update", copy / "golden", "--reason", "", code=2)
    before = record(copy)
    shown = call(program, "baseline", "update", copy / "golden", "--reason", "weights retrained").stdout
    assert "layers.3.gate_proj" in shown
    after = record(copy)
    assert after["reasons"] == ["the first", "weights retrained"]
    assert {key for key in after if after[key] != before[key]} == {"reasons", "golden_sha256",
                                                                   "model_fingerprint"}
    assert sorted(p.name for p in (copy / "golden").iterdir()) == ["baseline.json", "golden.safetensors"]
    call(program, "baseline", "check", copy / "golden", "--strict")


def test_what_is_no_baseline(program, copy):
    golden = copy / "golden" / "golden.safetensors"
    whole = golden.read_bytes()
    golden.write_text("version https://git-lfs.github.com/spec/v1\n")
    assert "Git LFS" in call(program, "baseline", "check", copy / "golden", code=4).stderr
    golden.write_bytes(whole)
    error = call(program, "baseline", "check", copy / "golden", "--model", copy / "none", code=1).stderr
    assert str(copy / "none") in error
    (copy / "golden" / "baseline.json").write_text('{"schema": "else/1"}')
    assert "no baseline" in call(program, "baseline", "check", copy / "golden", code=4).stderr
    assert "baseline init" in call(program, "baseline", "check", copy, code=1).stderr
    call(program, "baseline", code=2)
    call(program, "baseline", "init", copy / "new", "--model", copy / "model", code=2)
