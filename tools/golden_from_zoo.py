"""Golden vectors of formats whose libraries wrote a case of tests/zoo: one matrix of the case, with
the dense values of the library's formula."""

import json
import pathlib
import struct
import sys

import numpy as np
from score_zoo import Case

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
import zoo_spec  # noqa: E402

# Format: case. Of its modules the one with the fewest weights.
CASES = {
    "gptq-2bit": "autogptq-2bit-g64", "gptq-4bit": "autogptq-4bit-g128-quantize-json",
    "gptq-8bit": "autogptq-8bit-perchannel", "gptq-v2-4bit": "gptqmodel-v2-4bit-g64",
    "gptq-v2-8bit": "gptqmodel-v2-8bit-g64", "auto-round-6bit": "autoround-gptq-6bit-g32",
    "awq-gemm": "autoawq-gemm-g128", "awq-gemv": "autoawq-gemv-g64",
    "ct-2bit": "compressed-tensors-w2a16-ternary-g64", "ct-4bit": "compressed-tensors-w4a16-g128",
    "ct-4bit-asym": "compressed-tensors-w4a16-g32-asym", "ct-5bit": "compressed-tensors-w5a16-g32",
    "hqq-2bit": "hqq-2bit-g64-axis1", "hqq-4bit": "hqq-4bit-g64-axis1",
    "hqq-4bit-axis0": "hqq-4bit-g64-axis0", "quanto-int2": "quanto-int2-g64",
    "quanto-int4": "quanto-int4-g64", "mlx-2bit": "mlx-2bit-g128-ternary",
    "mlx-3bit": "mlx-3bit-g64", "mlx-4bit": "mlx-4bit-g64", "mlx-8bit": "mlx-8bit-g64",
    "torchao-uint2": "torchao-uint2", "torchao-uint6": "torchao-uint6",
    "torchao-intx-3bit": "torchao-intx-unpacked-int3", "bnb-nf4": "bnb-nf4-b64",
    "bnb-int8": "bnb-int8", "gemma-int4": "transformers-gemma-int4",
    "fp8-row": "compressed-tensors-fp8-channel", "torchao-mxfp4": "torchao-mxfp4", "torchao-mxfp8": "torchao-mxfp8",
    "ct-nvfp4": "compressed-tensors-nvfp4", "trilm-2shards": "own-trilm-unpacked-2shards",
    "q2_0c": "gguf-fork-seq2-512-id41", "iq1_bn": "gguf-fork-iq1bn-id134",
    "i2_s-4row": "gguf-fork-i2s-4row", "bitnet-gpu": "own-bitnet-gpu-int2", "t-mac": "own-tmac-2bit",
}


class Raw:
    """An array of a type numpy lacks."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, shape, data

    def tobytes(self):
        return self.data


def raw_tensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: Raw(e["dtype"], e["shape"],
                      data[8 + length + e["data_offsets"][0]:8 + length + e["data_offsets"][1]])
            for name, e in header.items()}


def golden_of_case(name):
    """(dense, tensors by role, writer, version)."""
    case = Case(ROOT / "tests/zoo" / CASES[name])
    tensors = raw_tensors(case.folder / case.truth["variants"]["stripped"])
    module = min(case.truth["modules"], key=lambda m: np.prod(m["shape"]))
    spec = {**case.truth["spec"], **module.get("spec_override", {})}
    roles = zoo_spec.tensors_by_role(module, "stripped", spec)
    roles.pop("group_index", None)  # k div group
    library = case.truth["library"]
    return (case.dense[module["dense"]], {role: tensors[t] for role, t in roles.items()},
            library or f"own code (tests/zoo/{case.name})", case.truth["library_version"] or "1")
