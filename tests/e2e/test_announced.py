"""inspect on checkpoints of real libraries that say what they are: what they say is followed where
the bytes agree, and reported where they do not."""

import importlib.util
import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import safetensors.numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "tests/zoo"
SPEC = importlib.util.spec_from_file_location("score_zoo", ROOT / "tools/score_zoo.py")
SCORER = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SCORER)

# Formats of real libraries; the rest of the zoo announces nothing that is known.
CASES = [folder for folder in SCORER.cases_in(ZOO) if not folder.name.startswith(("own-", "refuse-"))]


def inspect(program, folder, tmp_path):
    sheet, dense = tmp_path / "sheet.json", tmp_path / "dense.safetensors"
    result = subprocess.run([str(program), "inspect", str(folder), "--json", str(sheet),
                             "--unpack", str(dense)], capture_output=True, text=True, timeout=60,
                            stdin=subprocess.DEVNULL)
    return result.returncode, json.loads(sheet.read_text()), dense


def copy_of(case, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(ZOO / case / "documented", folder)
    return folder


def say(folder, **settings):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"].update(settings)
    path.write_text(json.dumps(config))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_documented_checkpoints_are_read_as_their_library_reads_them(program, folder, tmp_path):
    case = SCORER.Case(folder)
    command = f"{program} inspect {{case}} --json {{out}} --unpack {{dense}}"
    outcome = SCORER.run_tool(case, "documented", command, 60, tmp_path)
    result = SCORER.judge(case, "documented", command, *outcome)
    assert (result["level"], result["verdict"]) == ("exact", "identified"), result


@pytest.mark.parametrize("case, lie, chosen", [
    ("autogptq-4bit-g64", {"checkpoint_format": "gptq_v2"}, "zero.stored"),
    ("gptqmodel-v2-8bit-g64", {"checkpoint_format": "gptq"}, "zero.stored"),
    ("autogptq-4bit-asym-g64", {"checkpoint_format": "gptq_v2"}, "zero.stored"),
    ("transformers-bitnet-bitlinear-inverse", {"linear_class": "autobitlinear"}, "scale.op"),
])
def test_a_contradicted_claim_is_ambiguous(program, case, lie, chosen, tmp_path):
    """The bytes' own reading comes first, the announced one is listed, and nothing is certain."""
    folder = copy_of(case, tmp_path)
    say(folder, **lie)
    code, sheet, dense = inspect(program, folder, tmp_path)
    assert code == 4
    assert sheet["verdict"] == "ambiguous"
    assert "contradict the announced format" in sheet["reason"]
    for module in sheet["modules"]:
        (alternative,) = module["alternatives"]
        assert chosen in alternative["differs"]
        assert alternative["why_indistinguishable"] == "announced, but the bytes contradict it"
    truth = SCORER.Case(ZOO / case)
    for name, values in safetensors.numpy.load_file(dense).items():
        assert SCORER.is_close(values, truth.dense[name + ".weight"]), name


def test_a_false_size_is_refused_with_both_figures(program, tmp_path):
    folder = copy_of("autogptq-4bit-g64", tmp_path)
    say(folder, bits=8)
    code, sheet, dense = inspect(program, folder, tmp_path)
    assert code == 4
    assert sheet["verdict"] != "identified"
    assert "expected 8 bits; found 4 bits" in sheet["reason"]


def test_what_was_said_and_what_was_measured_are_in_the_sheet(program, tmp_path):
    _, sheet, _ = inspect(program, ZOO / "autogptq-4bit-asym-g64/documented", tmp_path)
    evidence = sheet["modules"][0]["evidence"]
    said = {entry["field"]: entry for entry in evidence if entry["status"] == "announced"}
    assert said["bits"]["value"] == 4
    assert said["bits"]["test"] == "config.json: quantization_config.bits"
    assert said["zero.stored"]["value"] == "z-1"
    tests = {entry["test"]: entry["numbers"] for entry in evidence}
    assert abs(tests["weights centred on zero"]["mean_steps"]) < 0.6
    assert tests["spread of the codes"]["codes_used"] == 16


def test_damaged_scales_are_named(program, tmp_path):
    folder = copy_of("autogptq-4bit-g64", tmp_path)
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    name = next(name for name in tensors if name.endswith("q_proj.scales"))
    tensors[name] = np.where(np.arange(tensors[name].size).reshape(tensors[name].shape) == 7,
                             np.float16(-1), tensors[name])
    safetensors.numpy.save_file(tensors, path)
    code, sheet, _ = inspect(program, folder, tmp_path)
    assert code == 4
    assert "1 negative" in sheet["reason"]


def test_scales_that_are_quantised_themselves(program, tmp_path):
    """bitsandbytes with double quantisation: absmax = table[code] · nested_absmax + offset."""
    folder = copy_of("bnb-nf4-b64", tmp_path)
    _, _, dense = inspect(program, folder, tmp_path)
    before = safetensors.numpy.load_file(dense)
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    random = np.random.default_rng(1)
    scales = {}
    for name in [name for name in tensors if name.endswith(".absmax")]:
        weight = name.removesuffix(".absmax")
        count = len(tensors[name])
        codes = random.integers(0, 256, count).astype(np.uint8)
        table = np.linspace(-1, 1, 256).astype(np.float32)
        nested = random.uniform(0.01, 0.02, -(-count // 256)).astype(np.float32)
        new = table[codes] * np.repeat(nested, 256)[:count] + np.float32(0.05)
        scales[weight.removesuffix(".weight")] = (tensors[name], new)
        state = next(key for key in tensors if key.startswith(weight + ".quant_state"))
        settings = json.loads(tensors[state].tobytes())
        settings.update(nested_blocksize=256, nested_offset=float(np.float32(0.05)),
                        nested_dtype="float32")
        tensors[state] = np.frombuffer(json.dumps(settings).encode(), np.uint8)
        tensors[name] = codes
        tensors[weight + ".nested_absmax"] = nested
        tensors[weight + ".nested_quant_map"] = table
    safetensors.numpy.save_file(tensors, path)
    code, sheet, dense = inspect(program, folder, tmp_path)
    assert code == 0, sheet["reason"]
    for name, values in safetensors.numpy.load_file(dense).items():
        old, new = (np.repeat(scale.astype(np.float64), 64) for scale in scales[name])
        wanted = (before[name].ravel() / old * new).reshape(values.shape)
        assert np.abs(values - wanted).max() <= 1e-6 * np.abs(wanted).max()


def test_planar_gptq(program, tmp_path):
    """checkpoint_format gptq_p: of 32 codes of 6 bits, four words of low nibbles, then two of the rest."""
    folder = copy_of("autoround-gptq-6bit-g32", tmp_path)
    truth = SCORER.Case(ZOO / "autoround-gptq-6bit-g32")
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "gptq", "bits": 6, "group_size": 32,
                                     "sym": False, "checkpoint_format": "gptq_p"}
    (folder / "config.json").write_text(json.dumps(config))

    def replanned(words, less_one):
        """Words along the first axis, from a dense stream into planes."""
        bits = np.unpackbits(np.ascontiguousarray(words.T).view(np.uint8), axis=1, bitorder="little")
        codes = (bits.reshape(len(bits), -1, 6) * (1 << np.arange(6))).sum(2).astype(np.int64)
        codes = (codes + less_one) % 64
        parts = []
        for start in range(0, codes.shape[1], 32):
            run = codes[:, start:start + 32]
            for width, shift in ((4, 0), (2, 4)):
                fields = (run >> shift & (1 << width) - 1).reshape(len(run), width, 32 // width)
                parts.append((fields << np.arange(32 // width) * width).sum(2).astype(np.uint32))
        return np.ascontiguousarray(np.concatenate(parts, axis=1).view(np.int32).T)

    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    for name in tensors:
        if name.endswith(".qweight"):
            tensors[name] = replanned(tensors[name], 0)
        elif name.endswith(".qzeros"):
            tensors[name] = np.ascontiguousarray(
                replanned(np.ascontiguousarray(tensors[name].T), 1).T)
    safetensors.numpy.save_file(tensors, path)
    code, sheet, dense = inspect(program, folder, tmp_path)
    assert code == 0, sheet["reason"]
    for name, values in safetensors.numpy.load_file(dense).items():
        assert SCORER.is_close(values, truth.dense[name + ".weight"]), name


REFERENCED = [folder for folder in SCORER.cases_in(ZOO)
              if folder.name in ("own-offset-colscale", "own-n-quarters-k4codes", "gguf-tq20",
                                 "mlx-2bit-g128-ternary", "autoawq-gemm-g64")]


@pytest.mark.parametrize("variant", ["documented", "stripped"])
@pytest.mark.parametrize("folder", REFERENCED, ids=lambda folder: folder.name)
def test_an_unquantised_module_settles_what_the_bytes_leave_open(program, folder, variant, tmp_path):
    case = SCORER.Case(folder)
    command = f"{program} inspect {{case}} --reference {{ref}} --json {{out}} --unpack {{dense}}"
    outcome = SCORER.run_tool(case, variant, command, 60, tmp_path)
    result = SCORER.judge(case, variant, command, *outcome)
    assert result["level"] == "exact", result


def test_an_announced_reading_is_held_against_the_reference(program, tmp_path):
    folder = copy_of("autogptq-4bit-g64", tmp_path)
    reference = tmp_path / "reference.safetensors"
    truth = ZOO / "autogptq-4bit-g64/truth/reference.safetensors"
    tensors = safetensors.numpy.load_file(truth)
    safetensors.numpy.save_file({name: np.ascontiguousarray(values[:, ::-1])
                                 for name, values in tensors.items()}, reference)
    sheet = tmp_path / "sheet.json"
    command = [str(program), "inspect", str(folder), "--json", str(sheet), "--reference"]
    assert subprocess.run([*command, str(truth)], capture_output=True).returncode == 0
    assert subprocess.run([*command, str(reference)], capture_output=True).returncode == 4
    assert "does not resemble the reference" in json.loads(sheet.read_text())["reason"]
    missing = subprocess.run([*command, str(tmp_path / "none")], capture_output=True, text=True)
    assert missing.returncode not in (0, 3) and "none" in missing.stderr
