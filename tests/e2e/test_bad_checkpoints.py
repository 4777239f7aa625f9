"""Checkpoints that are damaged or contradict themselves: every verb ends with exit code 4 and one
line that names what is wrong, and leaves nothing half written."""

import json
import shutil
import struct
import subprocess

import numpy as np
import pytest

SCALE = "model.layers.2.mlp.up_proj.weight_scale"
CODES = "model.layers.2.mlp.up_proj.weight_ternary"
NORM = "model.layers.3.input_layernorm.weight"


class Weights:
    """A safetensors file as {name: [dtype, shape, bytes]}; `write` lays it out again."""

    def __init__(self, path):
        raw = path.read_bytes()
        (size,) = struct.unpack("<Q", raw[:8])
        header = json.loads(raw[8:8 + size])
        header.pop("__metadata__", None)
        data = raw[8 + size:]
        self.tensors = {name: [entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]]
                        for name, entry in header.items()}

    def write(self, path, edit_header=lambda text: text):
        header, data = {}, b""
        for name, (dtype, shape, content) in self.tensors.items():
            header[name] = {"dtype": dtype, "shape": shape,
                            "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = edit_header(json.dumps(header)).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def edit_weights(change):
    def apply(folder):
        path = folder / "model.safetensors"
        weights = Weights(path)
        change(weights.tensors)
        weights.write(path)
    return apply


def edit_header(change):
    def apply(folder):
        path = folder / "model.safetensors"
        Weights(path).write(path, change)
    return apply


def edit_bytes(change):
    def apply(folder):
        path = folder / "model.safetensors"
        path.write_bytes(change(path.read_bytes()))
    return apply


def edit_config(**fields):
    def apply(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | fields))
    return apply


def overlapping(text):
    header = json.loads(text)
    header[NORM]["data_offsets"] = header["model.norm.weight"]["data_offsets"]
    return json.dumps(header)


def absurd_shape(text):
    header = json.loads(text)
    header[CODES]["shape"] = [1 << 40, 1 << 40]
    return json.dumps(header)


def duplicate_name(text):
    header = json.loads(text)
    entry = json.dumps(header[NORM])
    return text[:-1] + f', "{NORM}": {entry}}}'


def with_nan_scale(tensors):
    values = np.frombuffer(tensors[SCALE][2], np.float16).copy()
    values[5] = np.nan
    tensors[SCALE][2] = values.tobytes()


def missing_shard(folder):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    names = Weights(folder / "model-00001-of-00002.safetensors").tensors
    (folder / "model.safetensors.index.json").write_text(json.dumps(
        {"weight_map": {name: "model-00001-of-00002.safetensors" for name in names}
         | {NORM: "model-00002-of-00002.safetensors"}}))


DAMAGE = {
    "zero-length": (edit_bytes(lambda raw: b""), "model.safetensors"),
    "header-cut": (edit_bytes(lambda raw: raw[:700]), "model.safetensors"),
    "data-cut": (edit_bytes(lambda raw: raw[:-1000]), "model.safetensors"),
    "trailing-bytes": (edit_bytes(lambda raw: raw + b"1234"), "model.safetensors"),
    "absurd-header-size": (edit_bytes(lambda raw: b"\xff" * 7 + b"\x0f" + raw[8:]),
                           "model.safetensors"),
    "header-no-json": (edit_header(lambda text: text.replace("{", "[", 1)), "model.safetensors"),
    "absurd-shape": (edit_header(absurd_shape), CODES),
    "overlap": (edit_header(overlapping), "model.safetensors"),
    "duplicate-name": (edit_header(duplicate_name), NORM),
    "unknown-dtype": (edit_weights(lambda t: t[NORM].__setitem__(0, "F99")), NORM),
    "integer-norm": (edit_weights(lambda t: t[NORM].__setitem__(0, "I16")),
                     NORM.removesuffix(".weight")),
    "missing-tensor": (edit_weights(lambda t: t.pop(NORM)), NORM.removesuffix(".weight")),
    "nan-scale": (edit_weights(with_nan_scale), SCALE),
    "zero-size-norm": (edit_weights(lambda t: t.__setitem__(NORM, ["F16", [0], b""])), NORM),
    "other-hidden-size": (edit_config(hidden_size=512), ""),
    "other-layer-count": (edit_config(num_hidden_layers=7), ""),
    "heads-do-not-divide": (edit_config(num_key_value_heads=3), "num_key_value_heads"),
    "unknown-architecture": (edit_config(model_type="mamba", architectures=["MambaForCausalLM"]),
                             "mamba"),
    "config-no-json": (lambda folder: (folder / "config.json").write_text("{"), "config.json"),
    "missing-shard": (missing_shard, "model-00002-of-00002.safetensors"),
}


def copy_of_sample(sample, folder):
    folder.mkdir()
    for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json"):
        shutil.copyfile(sample / name, folder / name)
    return folder


def call(program, *arguments):
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, check=False)


def test_a_copy_laid_out_again_is_fine(program, sample, tmp_path):
    """What the damaged copies are compared with: laying out alone breaks nothing."""
    folder = copy_of_sample(sample, tmp_path / "model")
    edit_weights(lambda tensors: None)(folder)
    done = call(program, "run", folder, "-p", "Once upon a time", "-n", "4", "--greedy")
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


@pytest.fixture(params=DAMAGE, ids=str)
def damaged(request, sample, tmp_path):
    damage, named = DAMAGE[request.param]
    folder = copy_of_sample(sample, tmp_path / "model")
    damage(folder)
    return folder, named


def test_every_verb_refuses_with_one_line(program, damaged, tmp_path):
    folder, named = damaged
    out = tmp_path / "out"
    out.mkdir()
    ids = tmp_path / "ids.jsonl"
    ids.write_text("[1, 2, 3]\n")
    for arguments in (
            ["run", folder, "-p", "Once", "-n", "4", "--greedy", "--json", out / "run.json"],
            ["trace", folder, "--ids", ids, "-o", out / "trace.safetensors"]):
        done = call(program, *arguments)
        said = done.stderr.strip()
        assert done.returncode == 4, f"{arguments[0]}: {done.returncode} {said}"
        assert done.stdout == ""
        assert said.startswith("trilith: error: ") and "\n" not in said, said
        assert named in said, said
        assert list(out.iterdir()) == [], "half an output was left"


def test_inspect_does_not_call_it_identified(program, damaged):
    folder, _ = damaged
    done = call(program, "inspect", folder, "--no-probe")
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.startswith(("verdict    refused\n", "verdict    ambiguous\n"))
