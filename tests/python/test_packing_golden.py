"""The golden vectors of the packed formats are what today's writers make."""

import importlib.util
import json
import pathlib
import struct

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_generator():
    path = ROOT / "tools/make_golden_packing.py"
    spec = importlib.util.spec_from_file_location("make_golden_packing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()


def content(data):
    """Tensors and metadata of a safetensors file, versions left out: another release that writes the
    same bytes is no failure."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    metadata.pop("writer_version")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], data[8 + length + begin : 8 + length + end])
    return metadata, tensors


@pytest.mark.parametrize("name", GENERATOR.RECIPES)
def test_golden_vector_is_what_its_writer_makes(name):
    stored = (GENERATOR.OUTPUT / f"{name}.safetensors").read_bytes()
    try:
        made = GENERATOR.make(name)
    except ImportError as error:
        pytest.skip(f"its writer is not installed: {error}")
    assert content(made) == content(stored)


def test_every_golden_vector_has_a_recipe():
    assert {path.stem for path in GENERATOR.OUTPUT.glob("*.safetensors")} == set(GENERATOR.RECIPES)
