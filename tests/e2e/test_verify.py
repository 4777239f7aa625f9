"""`trilith verify` on the shipped model and its golden trace: clean as it is, red at the right matrix
for every fault put into a copy, with the fingerprints in the golden and without."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

WEIGHTS = "model.safetensors"


def verify(program, model, baseline, *arguments):
    """Exit status and ledger."""
    result = subprocess.run(
        [str(program), "verify", str(model), "--baseline", str(baseline), "--json", "-",
         *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert result.returncode in (0, 3), result.stderr
    return result.returncode, json.loads(result.stdout)


@pytest.fixture(scope="session")
def golden(sample):
    return sample / "golden.safetensors"


@pytest.fixture(scope="session")
def bare_golden(golden, tmp_path_factory):
    """The golden without anything but its values."""
    path = tmp_path_factory.mktemp("golden") / "bare.safetensors"
    with safe_open(golden, "numpy") as source:
        text = json.loads(source.metadata()["trilith.trace"])
        tensors = {name: source.get_tensor(name) for name in source.keys()}
    kept = {key: text[key] for key in ("schema", "mode", "rows") if key in text}
    save_file(tensors, path, metadata={"trilith.trace": json.dumps(kept)})
    return path


@pytest.fixture(scope="session")
def documented(program, sample, tmp_path_factory):
    """A copy of the sample with its sheet beside it: (folder, sheet)."""
    folder = tmp_path_factory.mktemp("verify") / "model"
    shutil.copytree(sample, folder)
    saved = subprocess.run([str(program), "inspect", str(folder), "--save"], capture_output=True,
                           timeout=120)
    assert saved.returncode == 0, saved.stderr
    return folder, json.loads((folder / "trilith_sheet.json").read_text())


def with_spec(documented, tmp_path, module, change):
    """A sheet that reads one module in another way."""
    _, sheet = documented
    changed = json.loads(json.dumps(sheet))
    found = [m for m in changed["modules"] if m["name"] == module]
    assert len(found) == 1
    change(found[0]["spec"])
    path = tmp_path / "sheet.json"
    path.write_text(json.dumps(changed))
    return path


def test_the_sample_is_clean(program, documented, golden):
    status, ledger = verify(program, documented[0], golden, "--strict")
    assert status == 0
    assert ledger["schema"] == "trilith.ledger/1"
    assert ledger["verdict"] == "clean" and ledger["faults"] == []
    assert ledger["weights"] == {"fingerprints_compared": True, "different": []}
    assert ledger["coverage"]["prompts"] == 4 and ledger["coverage"]["nonfinite"] == 0
    linears = [p for p in ledger["points"] if "integers" in p.get("local", {})]
    assert len(linears) == 7 * 6
    assert all(p["local"]["integers"]["equal"] for p in linears)
    wanted = {"n", "rel_l2", "cos", "alpha", "signed_bias", "max_abs", "max_at", "q50", "q99", "q999",
              "worst_token", "worst_channel", "bit_equal", "floor_ratio", "local_rel"}
    logits = next(p for p in ledger["points"] if p["point"] == "logits")
    assert wanted <= logits.keys()


@pytest.mark.parametrize("which", ["golden", "bare_golden"])
@pytest.mark.parametrize("module, point, change", [
    ("model.layers.2.mlp.up_proj", "layers.2.up_proj", {"code_table": [0, -1, 1, None]}),
    ("model.layers.4.self_attn.v_proj", "layers.4.v_proj", {"code_table": [0, 1, 0, None]}),
    ("model.layers.1.self_attn.k_proj", "layers.1.k_proj", {"slot_order": "high_first"}),
    ("model.layers.3.self_attn.o_proj", "layers.3.o_proj", {"code_table": [0, -1, 1, None]}),
    ("model.layers.5.mlp.down_proj", "layers.5.down_proj", {"slot_order": "high_first"}),
], ids=["swapped", "two-as-zero", "reversed", "swapped-o", "reversed-down"])
def test_a_wrong_reading_is_placed(program, documented, tmp_path, request, which, module, point,
                                   change):
    def apply(spec):
        for key, value in change.items():
            (spec["law"] if key == "slot_order" else spec)[key] = value

    sheet = with_spec(documented, tmp_path, module, apply)
    status, ledger = verify(program, documented[0], request.getfixturevalue(which), "--sheet", sheet)
    assert status == 3
    assert ledger["first"] == {"point": point, "layer": int(point.split(".")[1])}
    assert ledger["faults"][0]["evidence"] == "weights"
    assert ledger["weights"]["fingerprints_compared"] == (which == "golden")


@pytest.mark.parametrize("which", ["golden", "bare_golden"])
def test_one_changed_weight_is_placed(program, documented, tmp_path, request, which):
    folder = tmp_path / "model"
    shutil.copytree(documented[0], folder)
    tensors = load_file(folder / WEIGHTS)
    codes = tensors["model.layers.3.mlp.gate_proj.weight_ternary"].copy()
    low = int(codes[11, 5]) & 3
    codes[11, 5] = (int(codes[11, 5]) & 0xFC) | (1 if low != 1 else 2)
    tensors["model.layers.3.mlp.gate_proj.weight_ternary"] = codes
    save_file(tensors, folder / WEIGHTS)
    status, ledger = verify(program, folder, request.getfixturevalue(which))
    assert status == 3
    assert ledger["first"] == {"point": "layers.3.gate_proj", "layer": 3}
    first = next(p for p in ledger["points"] if p["point"] == "layers.3.gate_proj")
    assert first["weights"]["worst_channel"] == 11


def test_another_programs_trace_is_a_target(program, documented, golden, tmp_path):
    """A trace in NumPy's hands: untouched it is clean, with one value bent it is not."""
    with safe_open(golden, "numpy") as source:
        text = json.loads(source.metadata()["trilith.trace"])
        tensors = {name: source.get_tensor(name) for name in source.keys()}
    kept = {key: text[key] for key in ("schema", "mode", "rows")}
    path = tmp_path / "target.safetensors"
    save_file(tensors, path, metadata={"trilith.trace": json.dumps(kept)})
    status, ledger = verify(program, documented[0], golden, "--target", path)
    assert status == 0 and ledger["verdict"] == "clean"
    bent = tensors["p0.layers.2.out"].copy()
    bent[7, 30] += np.float32(0.01)
    tensors["p0.layers.2.out"] = bent
    save_file(tensors, path, metadata={"trilith.trace": json.dumps(kept)})
    status, ledger = verify(program, documented[0], golden, "--target", path)
    assert status == 3
    assert ledger["first"]["point"] == "layers.2.out"


@pytest.mark.parametrize("mode", ["a16", "a8"])
def test_the_engines_own_trace_is_a_target(program, documented, golden, sample, tmp_path, mode):
    """What the engine recorded in a file is judged like the engine itself, integers included."""
    path = tmp_path / "engine.safetensors"
    subprocess.run([str(program), "trace", str(documented[0]), "--prompts", str(sample / "texts.txt"),
                    "--max-tokens", "64", "--backend", "engine", "--mode", mode, "-o", str(path)],
                   check=True, capture_output=True, timeout=300)
    status, ledger = verify(program, documented[0], golden, "--target", path)
    assert status == 0 and ledger["verdict"] == "clean"
    linears = [p for p in ledger["points"] if "integers" in p.get("local", {})]
    assert len(linears) == 7 * 6
    assert all(p["local"]["integers"]["equal"] for p in linears)


@pytest.mark.parametrize("arguments, code", [
    (["verify"], 2),
    (["verify", "{model}"], 2),
    (["verify", "{model}", "--baseline", "{missing}"], 1),
    (["verify", "{model}", "--baseline", "{model}/config.json"], 4),
    (["verify", "{model}", "--baseline", "{golden}", "--mode", "a7"], 2),
    (["verify", "{model}", "--baseline", "{golden}", "--isa", "mmx"], 2),
])
def test_wrong_calls(program, documented, golden, tmp_path, arguments, code):
    names = {"model": documented[0], "golden": golden, "missing": tmp_path / "none"}
    call = [str(program)] + [a.format(**names) for a in arguments]
    result = subprocess.run(call, capture_output=True, text=True, timeout=60)
    assert result.returncode == code, result.stderr
    assert result.stderr
