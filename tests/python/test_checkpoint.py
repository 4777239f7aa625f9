"""Files of the `safetensors` library read equal here, and files written here load there."""

import hashlib
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRILITH_BUILD", ROOT / "build" / "release"))
EXCHANGE = BUILD / "tests" / "safetensors_exchange"

DTYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16",
    torch.int32: "I32", torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.float32: "F32", torch.float64: "F64", torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2", torch.uint16: "U16", torch.uint32: "U32",
    torch.uint64: "U64",
}

names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(
    lambda name: name != "__metadata__")
shapes = st.lists(st.integers(0, 5), max_size=4)


def raw(tensor):
    if tensor.numel() == 0:
        return b""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def random_tensor(dtype, shape, seed):
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return torch.empty(shape, dtype=dtype)
    data = np.random.default_rng(seed).integers(0, 2 if dtype == torch.bool else 256, size,
                                                dtype=np.uint8)
    return torch.from_numpy(data).view(dtype).reshape(shape)


@st.composite
def checkpoints(draw):
    tensors = {}
    for name in draw(st.lists(names, max_size=6, unique=True)):
        dtype = draw(st.sampled_from(list(DTYPES)))
        tensors[name] = random_tensor(dtype, draw(shapes), draw(st.integers(0, 2**32)))
    return tensors, draw(st.dictionaries(names, st.text(
        st.characters(exclude_categories=("Cs",)), max_size=8), max_size=3))


def run(*arguments):
    return subprocess.run([EXCHANGE, *arguments], capture_output=True, text=True, timeout=60)


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(checkpoints())
def test_both_ways(tmp_path, checkpoint):
    tensors, metadata = checkpoint
    theirs, ours = tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors"
    save_file(tensors, theirs, metadata=metadata or None)

    listed = run("list", theirs)
    assert listed.returncode == 0, listed.stderr
    listing = json.loads(listed.stdout)
    assert listing["metadata"] == metadata
    assert listing["tensors"] == {
        name: {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
               "sha256": hashlib.sha256(raw(tensor)).hexdigest()}
        for name, tensor in tensors.items()}

    copied = run("copy", theirs, ours)
    assert copied.returncode == 0, copied.stderr
    loaded = load_file(ours)
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
        assert raw(loaded[name]) == raw(tensor)
    with safe_open(ours, framework="np") as file:
        assert (file.metadata() or {}) == metadata


@pytest.mark.parametrize("keep", [0, 7, 8, 40, -1])
def test_truncated_files_are_refused_by_both(tmp_path, keep):
    path = tmp_path / "cut.safetensors"
    save_file({"a": torch.zeros(3, 4), "b": torch.ones(7, dtype=torch.uint8)}, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(Exception):
        load_file(path)
    listed = run("list", path)
    assert listed.returncode == 4
    assert "cut.safetensors" in listed.stderr and listed.stdout == ""
    copied = run("copy", path, tmp_path / "out.safetensors")
    assert copied.returncode == 4
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cut.safetensors"]
