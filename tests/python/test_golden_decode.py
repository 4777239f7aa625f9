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
# Rows with an axis that the NumPy decoder lacks: it must say so, not guess.
NOT_READ = {
    "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs",
    "mxfp4", "nvfp4", "iq1_bn", "gptq-2bit", "gptq-3bit", "gptq-4bit", "gptq-8bit",
    "gptq-v2-4bit", "gptq-v2-8bit", "gptq-planar-3bit", "gptq-planar-7bit", "auto-round-6bit",
    "awq-gemm", "awq-gemv", "ct-4bit-asym", "ct-5bit", "hqq-2bit", "hqq-4bit", "hqq-4bit-axis0",
    "quanto-int2", "quanto-int4", "mlx-2bit", "mlx-3bit", "mlx-4bit", "mlx-8bit", "torchao-uint2",
    "torchao-uint6", "torchao-intx-3bit", "bnb-nf4", "bnb-nf4-nested", "onnx-4bit", "fp8-row",
    "torchao-mxfp4", "torchao-mxfp8", "ct-nvfp4", "onebit", "bitnet-gpu", "tl1", "t-mac",
}


def test_every_golden_vector_has_a_spec():
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(SPECS)


@pytest.mark.parametrize("name", SPECS)
def test_decodes_to_the_writers_values(name):
    with safe_open(str(FOLDER / f"{name}.safetensors"), "pt") as golden:
        tensors = {role: golden.get_tensor(role) for role in golden.keys()}
    arrays = {role: (tensor.float() if tensor.is_floating_point() else tensor).numpy()
              for role, tensor in tensors.items()}
    dense = arrays.pop("dense")
    if name in NOT_READ:
        with pytest.raises(trilith.UnsupportedSpec):
            trilith.decode(SPECS[name], arrays, *dense.shape)
        return
    decoded = trilith.decode(SPECS[name], arrays, *dense.shape)
    if SPECS[name]["scale"].get("factor", 1) == 1:
        np.testing.assert_array_equal(decoded.astype(np.float32), dense)
    else:  # the writer rounds the constant and both products to float32
        np.testing.assert_allclose(decoded, dense, rtol=3 * 2.0**-24, atol=0)
