"""The NumPy decoder on every golden vector of the packing catalogue: the values of the writer."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
import trilith
from safetensors import safe_open

FOLDER = pathlib.Path(__file__).parents[1] / "golden" / "packing"
SPECS = json.loads((FOLDER / "specs.json").read_text("utf-8"))


def test_every_golden_vector_has_a_spec():
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(SPECS)


@pytest.mark.parametrize("name", SPECS)
def test_decodes_to_the_writers_values(name):
    with safe_open(str(FOLDER / f"{name}.safetensors"), "pt") as golden:
        tensors = {role: golden.get_tensor(role) for role in golden.keys()}
    arrays = {role: (tensor.float() if tensor.is_floating_point() else tensor).numpy()
              for role, tensor in tensors.items()}
    dense = arrays.pop("dense")
    decoded = trilith.decode(SPECS[name], arrays, *dense.shape)
    np.testing.assert_array_equal(decoded.astype(np.float32), dense)
