"""`trilith trace import`: dumps as people have them become the trace that would have been recorded."""

from __future__ import annotations

import io
import json
import pathlib
import pickle
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import prompt_points, read_trace, write_ids  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from tiny_models import make_llama, save_dense, token_ids  # noqa: E402

SHORT = {"input_norm": "ln1", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "q_rope": "q_rope",
         "k_rope": "k_rope", "attn": "attn_context", "o_proj": "attn_out", "attn_residual": "ffn_inp",
         "post_norm": "ln2", "gate_proj": "mlp_gate", "up_proj": "mlp_up", "act": "mlp_act",
         "down_proj": "mlp_down", "out": "output"}
HEADS = {"q_rope": 4, "k_rope": 2}


@pytest.fixture(scope="module")
def traced(trilith, tmp_path_factory):
    """A model folder and the reference's trace of one prompt: {point: values}, ids."""
    tiny = make_llama(21, tied=False)
    folder = tmp_path_factory.mktemp("import")
    save_dense(tiny, folder / "model")
    ids = token_ids(tiny, 19, 3)
    trilith("trace", folder / "model", "--ids", write_ids(folder / "ids.jsonl", [ids]), "--mode", "f32",
            "-o", folder / "ref.safetensors")
    tensors, _ = read_trace(folder / "ref.safetensors")
    points = prompt_points(tensors)
    del points["ids"], points["top10"]
    return folder, points, np.array(ids)


def short_name(point: str) -> str:
    parts = point.split(".")
    return f"layer{parts[1]}_{SHORT[parts[2]]}" if len(parts) == 3 else point


def import_dump(program, folder, output, *arguments, code=0) -> str:
    done = subprocess.run([str(program), "trace", "import", str(folder), "-o", str(output),
                           *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stderr


def check(program, traced, output) -> dict:
    """The imported trace holds what was recorded, and verify says so."""
    folder, points, ids = traced
    tensors, text = read_trace(output)
    found = prompt_points(tensors)
    assert np.array_equal(found["ids"], ids)
    assert found.keys() - {"ids", "top10"} == points.keys()
    assert all(np.array_equal(found[point], values) for point, values in points.items())
    done = subprocess.run([str(program), "verify", str(folder / "model"), "--baseline",
                           str(folder / "ref.safetensors"), "--target", str(output)],
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout
    return text


def test_numpy_files_of_short_names(program, traced, tmp_path):
    _, points, ids = traced
    for point, values in points.items():
        kind = point.split(".")[-1]
        if kind in HEADS:  # [1, heads, T, head_dim]
            values = values.reshape(len(ids), HEADS[kind], -1).transpose(1, 0, 2)[None]
        elif kind == "attn":  # [T, heads, head_dim], column after column
            values = np.asfortranarray(values.reshape(len(ids), 4, -1))
        np.save(tmp_path / f"{short_name(point)}.npy", values)
    np.save(tmp_path / "input_ids.npy", ids[None])
    (tmp_path / "readme.txt").write_text("not a dump")
    np.save(tmp_path / "layer0_secret.npy", np.zeros(3))
    words = import_dump(program, tmp_path, tmp_path / "t.out")
    assert "1 tensors have no point" in words and "layer0_secret" in words
    text = check(program, traced, tmp_path / "t.out")
    assert text["places"]["layers.1.q_proj"] == "layer1_attn_q" and text["backend"] == "import"


@pytest.mark.parametrize("style", ["bare", "tuple", "one file", "folders", "safetensors"])
def test_torch_files(program, traced, tmp_path, style):
    _, points, ids = traced
    tensors = {point: torch.from_numpy(values)[None] for point, values in points.items()}
    dump = tmp_path / "dump"
    dump.mkdir()
    if style == "one file":
        torch.save(tensors | {"input_ids": torch.from_numpy(ids), "note": "of a run"}, dump / "all.pt")
    elif style == "safetensors":
        save_file({f"p0.{point}": values for point, values in points.items()} | {"p0.ids": ids},
                  dump / "all.safetensors")
    else:
        for point, tensor in tensors.items():
            name = short_name(point) if style == "bare" else point.replace("layers.", "model.layers.")
            if style == "folders":
                name = short_name(point).replace("_", "/", 1)
                (dump / name).parent.mkdir(exist_ok=True)
            if style == "tuple" and len(point.split(".")) == 3:
                name = "layers." + name.removeprefix("model.layers.") + "_output"
                torch.save((tensor, None), dump / f"{name}.pt")
            else:
                torch.save(tensor, dump / f"{name}.pth")
        torch.save(torch.from_numpy(ids), dump / "tokens.pt")
    import_dump(program, dump, tmp_path / "t.out")
    check(program, traced, tmp_path / "t.out")


def test_a_map_by_hand_prompts_by_name_and_batches(program, traced, tmp_path):
    _, points, ids = traced
    dump = tmp_path / "dump"
    dump.mkdir()
    values = points["layers.1.q_proj"]
    for run in (1, 2):
        np.save(dump / f"run{run}-wq2.npy", values * run)
    np.save(dump / "batched-y2.npy", np.stack([values, values + 1]))
    mapping = tmp_path / "map.json"
    mapping.write_text(json.dumps({"first_layer": 1, "first_prompt": 1, "points": {
        "layers.{i}.q_proj": "run{p}-wq{i}", "layers.{i}.out": ["nothing{i}", "batched-y{i}"]}}))
    lists = write_ids(tmp_path / "ids.jsonl", [ids.tolist(), ids[::-1].tolist()])
    import_dump(program, dump, tmp_path / "t.out", "--map", mapping, "--ids", lists, "--level", "sampled",
                "--rows", "4", "--mode", "f32")
    tensors, text = read_trace(tmp_path / "t.out")
    assert text["mode"] == "f32" and len(text["rows"]["p1"]) == 4
    assert np.array_equal(tensors["p1.ids"], ids[::-1])
    assert np.array_equal(tensors["p1.layers.1.q_proj"], values[text["rows"]["p1"]] * 2)
    assert np.array_equal(tensors["p1.layers.1.out"], values[text["rows"]["p1"]] + 1)
    assert np.array_equal(tensors["p0.layers.1.out"], values[text["rows"]["p0"]])


def test_integers_stay_integers(program, tmp_path):
    sums = np.array([[2**24 + 1, -5], [7, 2**31 - 1]], np.int32)
    np.save(tmp_path / "acc0.npy", sums)
    np.save(tmp_path / "codes0.npy", np.array([[1, -127], [3, 4]], np.int8))
    mapping = tmp_path / "map.json"
    mapping.write_text(json.dumps({"points": {"layers.{i}.q_proj.acc": "acc{i}",
                                              "layers.{i}.q_proj.x_codes": "codes{i}"}}))
    ids = write_ids(tmp_path / "ids.jsonl", [[1, 2]])
    import_dump(program, tmp_path, tmp_path / "t.out", "--map", mapping, "--ids", ids)
    tensors, _ = read_trace(tmp_path / "t.out")
    assert np.array_equal(tensors["p0.layers.0.q_proj.acc"], sums)
    assert tensors["p0.layers.0.q_proj.x_codes"].dtype == np.int8
    np.save(tmp_path / "acc0.npy", sums.astype(np.float32))
    assert "must be integers" in import_dump(program, tmp_path, tmp_path / "u", "--map", mapping, "--ids",
                                             ids, code=4)


class Evil:
    """A pickle that would write a file if anything ran it."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name, write, words, code", [
    ("layer0_attn_q.npy", lambda p, m: np.save(p, np.array([Evil(m)], dtype=object)), "not executed", 4),
    ("layer0_attn_q.pt", lambda p, m: torch.save({"x": Evil(m)}, p), "open", 4),
    ("layer0_attn_q.pt", lambda p, m: p.write_bytes(pickle.dumps(Evil(m))), "", 4),
    ("layer0_attn_q.npy", lambda p, m: np.save(p, np.zeros((8, 3), np.float32)), "transposed", 4),
    ("layer0_attn_q.npy", lambda p, m: np.save(p, np.zeros((1, 4), np.float32)), "one row a token", 4),
    ("layer0_attn_q.npy", lambda p, m: np.save(p, np.zeros((3, 3, 8), np.float32)), "as many heads", 4),
    ("layer0_attn_q.npy", lambda p, m: np.save(p, np.zeros((3, 0), np.float32)), "empty", 4),
    ("layer0_attn_q.npy", lambda p, m: p.write_bytes(b"\x93NUMPY"), "end too early", 4),
    ("layer0_huh.npy", lambda p, m: np.save(p, np.zeros((3, 4))), "knows no tensor of the dump", 4),
    ("notes.txt", lambda p, m: p.write_text("x"), "no file that is read", 2),
])
def test_what_is_refused(program, tmp_path, name, write, words, code):
    dump, mark = tmp_path / "dump", tmp_path / "mark"
    dump.mkdir()
    write(dump / name, mark)
    ids = write_ids(tmp_path / "ids.jsonl", [[1, 2, 3]])
    error = import_dump(program, dump, tmp_path / "t.out", "--ids", ids, code=code)
    assert words in error and "dump" in error
    assert not mark.exists() and not (tmp_path / "t.out").exists()


def test_names_that_clash_and_ids_that_miss(program, tmp_path):
    np.save(tmp_path / "layer0_attn_q.npy", np.zeros((3, 4)))
    assert "no token ids" in import_dump(program, tmp_path, tmp_path / "t.out", code=2)
    np.save(tmp_path / "input_ids.npy", np.zeros((3, 4)))
    assert "must be integers" in import_dump(program, tmp_path, tmp_path / "t.out", code=4)
    np.save(tmp_path / "input_ids.npy", np.array([1, 2, -3]))
    assert "out of range" in import_dump(program, tmp_path, tmp_path / "t.out", code=4)
    np.save(tmp_path / "layer.0.q.npy", np.zeros((3, 4)))
    words = import_dump(program, tmp_path, tmp_path / "t.out", code=4)
    assert "layer.0.q" in words and "layer0_attn_q" in words and "--map" in words


def test_numpys_own_bytes(program, tmp_path):
    """Every version, number type and order of elements that numpy writes."""
    values = np.arange(24, dtype=np.float64).reshape(3, 8) / 7
    dump, arrays = tmp_path / "dump", {}
    dump.mkdir()
    for version in (1, 2, 3):
        for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"):
            for order in "CF":
                name = f"{dtype}{order}{version}"
                arrays[name] = np.array(values, dtype=dtype, order=order)
                data = io.BytesIO()
                np.lib.format.write_array(data, arrays[name], version=(version, 0))
                (dump / f"{name}.npy").write_bytes(data.getvalue())
    mapping = tmp_path / "map.json"
    mapping.write_text(json.dumps({"points": {name: name for name in arrays}}))
    ids = write_ids(tmp_path / "ids.jsonl", [[1, 2, 3]])
    import_dump(program, dump, tmp_path / "t.out", "--ids", ids, "--map", mapping)
    tensors, _ = read_trace(tmp_path / "t.out")
    for name, array in arrays.items():
        assert np.array_equal(tensors[f"p0.{name}"], array.astype(np.float32)), name


def test_one_file_is_a_dump_too(program, tmp_path):
    np.save(tmp_path / "logits.npy", np.eye(3, dtype=np.float32))
    ids = write_ids(tmp_path / "ids.jsonl", [[1, 2, 3]])
    import_dump(program, tmp_path / "logits.npy", tmp_path / "t.out", "--ids", ids)
    assert np.array_equal(read_trace(tmp_path / "t.out")[0]["p0.logits"], np.eye(3))
    assert "no such" in import_dump(program, tmp_path / "none", tmp_path / "t.out", code=1).lower()
