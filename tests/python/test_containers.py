"""Files that gguf and torch.save wrote read here as what was written, bit by bit."""

import hashlib
import json
import os
import pathlib
import subprocess
import zipfile
from collections import OrderedDict

import gguf
import numpy as np
import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRILITH_BUILD", ROOT / "build" / "release"))

DTYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16",
    torch.int32: "I32", torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.float32: "F32", torch.float64: "F64", torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2", torch.float8_e8m0fnu: "F8_E8M0", torch.uint16: "U16",
    torch.uint32: "U32", torch.uint64: "U64",
}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def run(path):
    return subprocess.run([BUILD / "tests" / "checkpoint_list", path], capture_output=True,
                          text=True, timeout=60)


def listing(path):
    done = run(path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refusal(path):
    done = run(path)
    assert done.returncode == 4 and done.stdout == "", done.stdout
    return done.stderr


# GGUF ------------------------------------------------------------------------------------------


def quantised(kind, rows=3):
    """Any bytes are blocks of a type; what they mean is not the container's matter."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    columns = 2 * block
    data = np.random.default_rng(int(kind)).integers(0, 256, (rows, 2 * size), dtype=np.uint8)
    return data, columns


NUMBERS = {"F32": ("F32", np.float32), "F16": ("F16", np.float16), "F64": ("F64", np.float64),
           "I8": ("I8", np.int8), "I16": ("I16", np.int16), "I32": ("I32", np.int32),
           "I64": ("I64", np.int64)}


def test_every_tensor_type_of_the_gguf_package(tmp_path):
    path = tmp_path / "all.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    expected = {}
    for kind in gguf.GGMLQuantizationType:
        name = f"t.{kind.name}"
        if kind.name in NUMBERS:
            dtype, numpy_dtype = NUMBERS[kind.name]
            data = np.arange(15).reshape(3, 5).astype(numpy_dtype)
            writer.add_tensor(name, data)
            expected[name] = (dtype, [3, 5], [3, 5], [kind.name], data.tobytes())
            continue
        if kind.name == "Q8_1":  # the package's size is that of a layout no writer has used since
            continue
        data, columns = quantised(kind)
        writer.add_tensor(name, data, raw_dtype=kind)
        if kind.name == "BF16":
            expected[name] = ("BF16", [3, columns], [3, columns], ["BF16"], data.tobytes())
        else:
            expected[name] = ("U8", list(data.shape), [3, columns], [kind.name], data.tobytes())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert len(expected) > 30

    found = listing(path)
    assert found["container"] == "gguf"
    assert found["tensors"] == {
        name: {"dtype": dtype, "shape": shape, "sha256": sha256(data),
               "claim": {"id": int(gguf.GGMLQuantizationType[name[2:]]), "shape": logical,
                         "types": types, "problem": "", "transformers": ""}}
        for name, (dtype, shape, logical, types, data) in expected.items()}


def test_every_value_type_of_the_gguf_package(tmp_path):
    path = tmp_path / "keys.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    vocabulary = [f"token {i} ü" for i in range(1000)]
    writer.add_uint8("a.u8", 255)
    writer.add_int8("a.i8", -128)
    writer.add_uint16("a.u16", 65535)
    writer.add_int16("a.i16", -32768)
    writer.add_uint32("a.u32", 2**32 - 1)
    writer.add_int32("a.i32", -2**31)
    writer.add_float32("a.f32", 0.1)
    writer.add_uint64("a.u64", 2**63 - 1)
    writer.add_int64("a.i64", -2**63)
    writer.add_float64("a.f64", 0.1)
    writer.add_bool("a.bool", True)
    writer.add_string("a.text", "größe\n")
    writer.add_array("a.short", [1, 2, 3])
    writer.add_array("a.nested", [[1, 2], [3]])
    writer.add_token_list(vocabulary)
    writer.add_token_scores([0.5 * i for i in range(1000)])
    writer.add_tensor("x", np.zeros(3, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    found = listing(path)
    expected = {"general.architecture": "llama", "a.u8": 255, "a.i8": -128, "a.u16": 65535,
                "a.i16": -32768, "a.u32": 2**32 - 1, "a.i32": -2**31,
                "a.f32": float(np.float32(0.1)), "a.u64": 2**63 - 1, "a.i64": -2**63,
                "a.f64": 0.1, "a.bool": True, "a.text": "größe\n", "a.short": [1, 2, 3],
                "a.nested": [[1, 2], [3]]}
    assert found["metadata"] == expected
    assert found["arrays"] == {"a.short": [1, 2, 3], "tokenizer.ggml.tokens": vocabulary,
                               "tokenizer.ggml.scores": [0.5 * i for i in range(1000)]}


@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_other_alignments(tmp_path, alignment):
    path = tmp_path / "aligned.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    data = {f"t{i}": np.arange(i + 1, dtype=np.float32) for i in range(5)}
    for name, values in data.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = listing(path)["tensors"]
    assert {name: tensor["sha256"] for name, tensor in found.items()} == {
        name: sha256(values.tobytes()) for name, values in data.items()}


def test_split_files(tmp_path):
    path = tmp_path / "parts.gguf"
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=2)
    data = {f"t{i}": np.full((2, 4), i, np.float32) for i in range(5)}
    for name, values in data.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    names = sorted(entry.name for entry in tmp_path.iterdir())
    assert names == [f"parts-{i:05}-of-00003.gguf" for i in (1, 2, 3)]
    for opened in (tmp_path, tmp_path / names[1]):
        found = listing(opened)
        assert found["container"] == "gguf-sharded"
        assert {name: tensor["sha256"] for name, tensor in found["tensors"].items()} == {
            name: sha256(values.tobytes()) for name, values in data.items()}
    (tmp_path / names[2]).unlink()
    assert names[2] in refusal(tmp_path)


# PyTorch ---------------------------------------------------------------------------------------


def raw(tensor):
    if tensor.numel() == 0:
        return b""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def expected_of(tensors):
    return {name: {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                   "sha256": sha256(raw(tensor)), "claim": None}
            for name, tensor in tensors.items()}


def random_tensor(dtype, *shape):
    size = int(np.prod(shape)) * dtype.itemsize
    data = np.random.default_rng(size).integers(0, 2 if dtype == torch.bool else 256, size,
                                                dtype=np.uint8)
    return torch.from_numpy(data).view(dtype).reshape(shape)


def state_dict():
    base = random_tensor(torch.float32, 6, 4)
    tensors = {str(dtype).removeprefix("torch."): random_tensor(dtype, 3, 5) for dtype in DTYPES}
    tensors |= {
        "base": base, "alias": base, "transposed": base.t(), "row": base[2], "column": base[:, 1],
        "strided": base[1::2, ::3], "permuted": random_tensor(torch.int16, 2, 3, 4).permute(2, 0, 1),
        "expanded": base[0].expand(5, 4), "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3),
        "parameter": torch.nn.Parameter(base.clone()),
        "transposed_parameter": torch.nn.Parameter(base.t()),
        "buffer": torch.nn.Buffer(base[3].clone()),
        "one_wide": random_tensor(torch.uint8, 4, 6)[:, :1],
    }
    return tensors


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_tensors_of_torch_save(tmp_path, protocol):
    tensors = state_dict()
    path = tmp_path / "pytorch_model.bin"
    torch.save(tensors, path, pickle_protocol=protocol)
    found = listing(tmp_path)
    assert found["container"] == "torch-zip"
    assert found["tensors"] == expected_of(tensors)


def test_state_dict_of_a_module(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    torch.save(module.state_dict(), tmp_path / "m.pt")
    assert listing(tmp_path / "m.pt")["tensors"] == expected_of(dict(module.state_dict()))


def test_names_are_paths_and_what_is_no_tensor_is_metadata(tmp_path):
    tensors = {"w": torch.ones(2), "b": torch.zeros(3)}
    torch.save({"layers": [tensors, (torch.ones(1), None)], "step": 7, "rate": 0.5, "big": 2**70,
                "name": "ü", "done": True, "size": torch.Size([1, 2]), "kind": torch.float16,
                "device": torch.device("cpu"), 3: torch.ones(4)}, tmp_path / "a.pt")
    found = listing(tmp_path / "a.pt")
    assert found["tensors"] == expected_of({
        "layers.0.w": tensors["w"], "layers.0.b": tensors["b"], "layers.1.0": torch.ones(1),
        "3": torch.ones(4)})
    assert found["metadata"] == {"step": 7, "rate": 0.5, "big": 2.0**70, "name": "ü", "done": True}

    for wrapper in ("state_dict", "model_state_dict", "model", "module"):
        torch.save({wrapper: OrderedDict(tensors), "epoch": 3}, tmp_path / "b.pt")
        found = listing(tmp_path / "b.pt")
        assert found["tensors"] == expected_of(tensors)
        assert found["metadata"] == {"epoch": 3}
    torch.save({"model": tensors, "other": {"x": torch.ones(1)}}, tmp_path / "b.pt")
    assert set(listing(tmp_path / "b.pt")["tensors"]) == {"model.w", "model.b", "other.x"}
    torch.save(torch.ones(2), tmp_path / "b.pt")
    assert listing(tmp_path / "b.pt")["tensors"] == expected_of({"tensor": torch.ones(2)})


def test_shards_with_an_index(tmp_path):
    first, second = {"a": torch.ones(2)}, {"b": torch.zeros(3), "c": torch.ones(1)}
    names = [f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    torch.save(first, tmp_path / names[0])
    torch.save(second, tmp_path / names[1])
    index = {"a": names[0], "b": names[1], "c": names[1]}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": index}))
    torch.save({}, tmp_path / "optimizer.bin")
    found = listing(tmp_path)
    assert found["container"] == "torch-zip-sharded"
    assert found["tensors"] == expected_of(first | second)
    del index["c"]
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": index}))
    assert "does not list this tensor" in refusal(tmp_path)


class Calls:
    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("function, arguments, name", [
    (os.system, ("touch {}",), f"{os.name}.system"),
    (eval, ("open('{}', 'w')",), ".eval"),
    (OrderedDict, ([("a", 1)],), "collections.OrderedDict"),
    (torch.load, ("{}",), "torch.serialization.load"),
])
def test_hostile_pickles_are_refused_by_name(tmp_path, protocol, function, arguments, name):
    mark = tmp_path / "executed"
    arguments = tuple(a.format(mark) if isinstance(a, str) else a for a in arguments)
    torch.save({"w": torch.ones(1), "x": Calls(function, *arguments)}, tmp_path / "a.pt",
               pickle_protocol=protocol)
    message = refusal(tmp_path / "a.pt")
    assert "the pickle calls " in message and name in message, message
    assert not mark.exists()


def test_other_objects_are_refused_by_name(tmp_path):
    torch.save(torch.nn.Linear(1, 1), tmp_path / "module.pt")
    assert "an object of torch.nn.modules.linear.Linear" in refusal(tmp_path / "module.pt")
    torch.save({"q": torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)},
               tmp_path / "q.pt")
    assert "torch._utils._rebuild_qtensor" in refusal(tmp_path / "q.pt")
    torch.save({"z": torch.ones(2, dtype=torch.complex64)}, tmp_path / "z.pt")
    assert "torch.ComplexFloatStorage" in refusal(tmp_path / "z.pt")
    torch.save({"w": torch.ones(2)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert "old format" in refusal(tmp_path / "old.pt")
    torch.jit.script(torch.nn.Linear(1, 1)).save(tmp_path / "script.pt")
    assert "TorchScript" in refusal(tmp_path / "script.pt")
    np.savez(tmp_path / "a.npz", a=np.ones(1))
    assert "no PyTorch checkpoint" in refusal(tmp_path / "a.npz")
    torch.save({"big": torch.ones(1).expand(1 << 30)}, tmp_path / "big.pt")
    assert "too large" in refusal(tmp_path / "big.pt")


def rewritten(source, target, method=zipfile.ZIP_STORED, edit=lambda name, data: data):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", method) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, edit(entry.filename, old.read(entry)))


def test_archives_of_other_writers(tmp_path):
    source, target = tmp_path / "a.pt", tmp_path / "b.pt"
    tensors = {"w": torch.ones(100, 3)}
    torch.save(tensors, source)
    rewritten(source, target)  # Python's zip knows no alignment and no data descriptors
    assert listing(target)["tensors"] == expected_of(tensors)
    rewritten(source, target, zipfile.ZIP_DEFLATED)
    assert "compressed" in refusal(target)
    rewritten(source, target, edit=lambda name, data: b"big" if name.endswith("byteorder") else data)
    assert "big-endian" in refusal(target)
    rewritten(source, target, edit=lambda name, data: data[:-4] if "/data/" in name else data)
    assert "reaches beyond its storage" in refusal(target)
    data = bytearray(source.read_bytes())
    data[data.index(b"FloatStorage")] ^= 1
    target.write_bytes(data)
    assert "checksum" in refusal(target)
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(tensors, target)
    finally:
        torch.serialization.set_crc32_options(True)
    assert listing(target)["tensors"] == expected_of(tensors)
