#!/usr/bin/env python3
"""Writes tests/golden/packing/<format>.safetensors: one small matrix in each named format, as its
writer makes it, beside the writer's own dense values.

    python tools/make_golden_packing.py [--check] [FORMAT ...]

Where the writer of a format can be installed it is the writer here (transformers, gguf, torchao,
compressed-tensors; a missing one is reported and its files are left alone), and the dense values are
what its own reader gives in float32. Where it wrote a case of tests/zoo, that is taken. The other formats are conventions without an installable
writer: these are written below in plain numpy, from the definition of the format, element by
element and without any code of this project. `__metadata__` says which, with the version.

Tensors: `codes` (`codes_1`), `scale` under the roles of src/packing/codec.h, and `dense`, float32
[N, K]. --check compares with the files in the tree and fails when one differs.
"""

import argparse
import functools
import importlib.metadata
import json
import os
import pathlib
import struct
import sys
import zlib

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # unpack_weights is wrapped in torch.compile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import golden_recipes  # noqa: E402
from golden_from_zoo import Raw  # noqa: E402

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/packing"
NUMPY_WRITER = "tools/make_golden_packing.py (numpy; the format has no installable writer)"
RECIPES = {}


def recipe(*names):
    def register(function):
        for name in names:
            RECIPES[name] = function
        return function

    return register


class Golden:
    """What one recipe gives."""

    def __init__(self, dense, writer=NUMPY_WRITER, version=None, note="", bf16=(), **tensors):
        self.dense = np.ascontiguousarray(dense, np.float32)
        self.tensors = {k: v if isinstance(v, Raw) else np.ascontiguousarray(v)
                        for k, v in tensors.items()}
        self.writer = writer
        self.version = version or f"numpy {np.__version__}"
        self.note = note
        self.bf16 = bf16  # names of uint16 arrays that hold bfloat16 bits


def ternary(rng, n, k):
    return rng.choice(np.array([-1, 0, 1]), size=(n, k), p=[0.34, 0.31, 0.35])


def f16_scales(rng, *shape):
    return rng.uniform(0.01, 0.05, size=shape).astype(np.float16)


def bf16_bits(values):
    """float32 → bfloat16 bits, to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


TABLES = {"0pm": {0: 0, 1: 1, -1: 2}, "m0p": {-1: 0, 0: 1, 1: 2}, "twos": {0: 0, 1: 1, -1: 3, -2: 2},
          "offset2": {-2: 0, -1: 1, 0: 2, 1: 3}}


def coded(rng, table, n, k):
    """Integer weights that use the whole alphabet of the table, and their codes."""
    if table == "offset2":
        weights = rng.choice(np.array([-2, -1, 0, 1]), size=(n, k))
    else:
        weights = ternary(rng, n, k)
    return weights, np.vectorize(TABLES[table].get)(weights).astype(np.uint8)


# --------------------------------------------------------------- one or four codes a byte


@recipe("k4-low-0pm", "k4-low-m0p", "k4-low-twos", "k4-high-0pm", "k4-high-m0p", "k4-high-offset2")
def four_a_byte(name, rng):
    _, order, table = name.split("-")
    n, k = 6, 20
    weights, codes = coded(rng, table, n, k)
    packed = np.zeros((n, k // 4), np.uint8)
    for row in range(n):
        for column in range(k):
            slot = column % 4
            shift = 2 * slot if order == "low" else 6 - 2 * slot
            packed[row, column // 4] |= codes[row, column] << shift
    scale = f16_scales(rng, n)
    return Golden(weights * scale.astype(np.float32)[:, None], codes=packed, scale=scale)


@recipe("k4-low-offset2")
def gemma_int2(name, rng):
    import torch
    import transformers
    from transformers.integrations import gemma_quant

    n, k = 6, 20
    weights, codes = coded(rng, "offset2", n, k)
    groups = codes.reshape(n, k // 4, 4)
    packed = groups[..., 0] | groups[..., 1] << 2 | groups[..., 2] << 4 | groups[..., 3] << 6
    read = gemma_quant._unpack_int2(torch.from_numpy(packed), k).numpy()
    assert (read == weights).all()
    scale = f16_scales(rng, n)
    return Golden(read * scale.astype(np.float32)[:, None], writer="transformers",
                  version=transformers.__version__, codes=packed, scale=scale,
                  note="transformers ships only the reader (_unpack_int2); it reads these bytes")


@recipe("k4-high-twos")
def torchao_bitnet(name, rng):
    import torch
    from torchao.prototype.quantized_training import bitnet

    master = torch.from_numpy(rng.normal(0, 0.02, size=(6, 20)).astype(np.float32))
    scale = bitnet.get_bitnet_scale(master)
    packed = bitnet._pack_i2_in_i8(bitnet.quantize_bitnet_weight(master, scale))
    bits = bf16_bits(scale.numpy().reshape(1))
    dense = bitnet._unpack_i2_in_i8(packed).numpy() * bf16_values(bits)
    return Golden(dense, writer="torchao", version=importlib.metadata.version("torchao"),
                  codes=packed.numpy(), scale=bits, bf16=("scale",))


@recipe("u8-0pm", "u8-m0p", "u8-twos", "u8-offset2")
def one_a_byte(name, rng):
    n, k = 5, 13
    weights, codes = coded(rng, name.split("-")[1], n, k)
    scale = f16_scales(rng, n)
    return Golden(weights * scale.astype(np.float32)[:, None], codes=codes, scale=scale)


@recipe("int8-ternary")
def int8_ternary(name, rng):
    n, k = 5, 13
    weights = ternary(rng, n, k)
    scale = f16_scales(rng, n)
    return Golden(weights * scale.astype(np.float32)[:, None], codes=weights.astype(np.int8),
                  scale=scale)


@recipe("float-ternary")
def float_ternary(name, rng):
    weights = ternary(rng, 5, 13)
    values = (weights * f16_scales(rng, 5)[:, None]).astype(np.float16) + np.float16(0)
    return Golden(values.astype(np.float32), codes=values)


@recipe("float-ternary-tensor")
def float_ternary_tensor(name, rng):
    weights = ternary(rng, 5, 13)
    scale = bf16_values(bf16_bits(rng.uniform(0.01, 0.05, size=1)))
    dense = (weights * scale).astype(np.float32) + np.float32(0)
    return Golden(dense, codes=bf16_bits(dense), bf16=("codes",))


# --------------------------------------------------------------- whole-matrix planes


@recipe("hf-bitnet", "hf-bitnet-inverse")
def hf_bitnet(name, rng):
    import torch
    import transformers
    from transformers.integrations import bitnet

    n, k = (12, 10) if name == "hf-bitnet" else (10, 6)  # 10 rows: unused high slots
    weights = ternary(rng, n, k)
    packed = bitnet.pack_weights(torch.from_numpy(weights.astype(np.float32)))
    bits = bf16_bits(rng.uniform(0.5, 2.0, size=1) if name == "hf-bitnet" else
                     rng.uniform(20, 60, size=1))
    read = bitnet.unpack_weights(packed, dtype=torch.float32).numpy()[:n]
    assert (read == weights).all()
    scale = bf16_values(bits)
    return Golden(read * scale if name == "hf-bitnet" else read / scale, writer="transformers",
                  version=transformers.__version__, codes=packed.numpy(), scale=bits,
                  bf16=("scale",))


@recipe("planes-pm")
def planes_plus_minus(name, rng):
    n, k = 5, 21
    weights = ternary(rng, n, k)
    scale = f16_scales(rng, n)
    masks = [np.packbits(weights == sign, axis=1, bitorder="little") for sign in (1, -1)]
    return Golden(weights * scale.astype(np.float32)[:, None], codes=masks[0], codes_1=masks[1],
                  scale=scale)


@recipe("planes-sign")
def planes_sign(name, rng):
    n, k = 5, 21
    weights = ternary(rng, n, k)
    scale = rng.uniform(0.01, 0.05, size=1).astype(np.float32)
    sign = np.packbits(weights < 0, axis=1, bitorder="little")
    nonzero = np.packbits(weights != 0, axis=1, bitorder="little")
    return Golden(weights * scale, codes=sign, codes_1=nonzero, scale=scale)


# --------------------------------------------------------------- blocks


@recipe("i2_s", "i2_s-64")
def i2_s(name, rng):
    block = 128 if name == "i2_s" else 64
    n, k = 3, 256
    weights = ternary(rng, n, k)
    flat = weights.reshape(-1)
    packed = np.zeros(n * k // 4, np.uint8)
    for element in range(n * k):
        start, inside = divmod(element, block)
        plane, byte = divmod(inside, block // 4)
        packed[start * (block // 4) + byte] |= (flat[element] + 1) << (6 - 2 * plane)
    scale = rng.uniform(0.5, 2.0, size=1).astype(np.float32)
    tail = scale.tobytes() + bytes(28)
    codes = np.concatenate([packed, np.frombuffer(tail, np.uint8)])
    return Golden(weights * scale, codes=codes)


def gguf_block(rng, kind, n, k):
    import gguf

    scale = f16_scales(rng, n, k // 256).astype(np.float32)
    weights = ternary(rng, n, k) * np.repeat(scale, 256, axis=1)
    data = gguf.quants.quantize(weights.astype(np.float32), kind)
    return Golden(gguf.quants.dequantize(data, kind), writer="gguf",
                  version=importlib.metadata.version("gguf"), codes=data)


@recipe("tq2_0", "tq1_0")
def gguf_ternary(name, rng):
    import gguf

    kind = {"tq2_0": gguf.GGMLQuantizationType.TQ2_0, "tq1_0": gguf.GGMLQuantizationType.TQ1_0}
    return gguf_block(rng, kind[name], 3, 512)


@recipe("q2_0", "pq2_0", "q1_0")
def ggml_scale_first(name, rng):
    block = 64 if name == "q2_0" else 128
    bits = 1 if name == "q1_0" else 2
    n, k = 3, 256
    if bits == 1:
        weights = rng.choice(np.array([-1, 1]), size=(n, k))
        codes = (weights + 1) // 2
    else:
        weights = rng.choice(np.array([-1, 0, 1, 2]), size=(n, k), p=[0.33, 0.3, 0.33, 0.04])
        codes = weights + 1
    scale = f16_scales(rng, n, k // block)
    rows = []
    for row in range(n):
        for start in range(0, k, block):
            rows.append(scale[row, start // block].tobytes())
            packed = bytearray(block * bits // 8)
            for element in range(block):
                bit = element * bits
                packed[bit // 8] |= int(codes[row, start + element]) << (bit % 8)
            rows.append(bytes(packed))
    data = np.frombuffer(b"".join(rows), np.uint8).reshape(n, -1)
    dense = weights * np.repeat(scale.astype(np.float32), block, axis=1)
    return Golden(dense, codes=data)


@recipe("ptq1_0")
def ptq1_0(name, rng):
    n, k, block = 3, 256, 128
    weights = ternary(rng, n, k)
    scale = f16_scales(rng, n, k // block)
    rows = []
    for row in range(n):
        for start in range(0, k, block):
            digits = weights[row, start:start + block] + 1
            packed = []
            # (first element, bytes, trits a byte): trit t of byte m is element first + bytes·t + m.
            for first, count, trits in ((0, 16, 5), (80, 8, 5), (120, 2, 4)):
                for m in range(count):
                    number = 0
                    for t in range(5):
                        number = 3 * number + (int(digits[first + count * t + m]) if t < trits else 0)
                    packed.append((number * 256 + 242) // 243)
            rows.append(bytes(packed) + scale[row, start // block].tobytes())
    data = np.frombuffer(b"".join(rows), np.uint8).reshape(n, -1)
    return Golden(weights * np.repeat(scale.astype(np.float32), block, axis=1), codes=data)


@recipe("iq2_bn")
def iq2_bn(name, rng):
    n, k = 3, 128
    weights = ternary(rng, n, k)
    scale = rng.uniform(0.01, 0.05, size=n).astype(np.float32)
    rows = []
    for row in range(n):
        packed = bytearray(k // 4)
        for element in range(k):
            start, inside = divmod(element, 64)
            plane, byte = divmod(inside, 16)
            packed[16 * start + byte] |= int(weights[row, element] + 1) << (2 * plane)
        rows.append(scale[row].tobytes() + bytes(packed))
    data = np.frombuffer(b"".join(rows), np.uint8).reshape(n, -1)
    return Golden(weights * scale[:, None], codes=data)


# --------------------------------------------------------------- the rest


@recipe("int8-row", "int8-tensor")
def compressed_tensors_int8(name, rng):
    import torch
    from compressed_tensors.compressors import IntQuantizationCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    n, k = 5, 13
    per_row = name == "int8-row"
    arguments = QuantizationArgs(num_bits=8, type="int", symmetric=True,
                                 strategy="channel" if per_row else "tensor")
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments)
    master = rng.normal(0, 0.02, size=(n, k)).astype(np.float32)
    absmax = np.abs(master).max(axis=1, keepdims=True) if per_row else np.abs(master).max(
        keepdims=True).reshape(1)
    scale = (absmax / 127.5).astype(np.float32)
    if per_row:
        scale = bf16_values(bf16_bits(scale))
    state = {"weight": torch.from_numpy(master), "weight_scale": torch.from_numpy(scale)}
    stored = IntQuantizationCompressor.compress(state, scheme)
    dense = IntQuantizationCompressor.decompress(stored, scheme)["weight"]
    return Golden(dense.float().numpy(), writer="compressed-tensors",
                  version=importlib.metadata.version("compressed-tensors"),
                  codes=stored["weight"].numpy(), scale=bf16_bits(scale) if per_row else scale,
                  bf16=("scale",) if per_row else ())


@recipe("base3")
def base3(name, rng):
    n, k, group = 4, 138, 128  # a short last group, and two unused digits in the last byte
    weights = ternary(rng, n, k)
    scale = f16_scales(rng, n, -(-k // group))
    packed = np.zeros((n, -(-k // 5)), np.uint8)
    for row in range(n):
        for column in range(k):
            packed[row, column // 5] += (weights[row, column] + 1) * 3 ** (column % 5)
    dense = weights * np.repeat(scale.astype(np.float32), group, axis=1)[:, :k]
    return Golden(dense, codes=packed, scale=scale)


# --------------------------------------------------------------- files


DTYPES = {"uint8": "U8", "int8": "I8", "int32": "I32", "float16": "F16", "float32": "F32"}

for more, function in golden_recipes.ALL.items():
    RECIPES[more] = functools.partial(function, Golden)


def serialise(golden, name):
    """safetensors bytes, in one order always (the library's own metadata order varies)."""
    metadata = {"format": name, "writer": golden.writer, "writer_version": golden.version}
    if golden.note:
        metadata["note"] = golden.note
    header, data = {"__metadata__": metadata}, b""
    # dense + 0: no negative zeros
    for key, values in sorted({**golden.tensors, "dense": golden.dense + np.float32(0)}.items()):
        raw = values.tobytes()
        is_raw = isinstance(values, Raw)
        dtype = "BF16" if key in golden.bf16 else values.dtype if is_raw else DTYPES[values.dtype.name]
        header[key] = {"dtype": dtype,
                       "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def make(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return serialise(RECIPES[name](name, rng), name)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", help="all when none is named")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    differing = skipped = 0
    for name in arguments.formats or RECIPES:
        path = OUTPUT / f"{name}.safetensors"
        try:
            data = make(name)
        except ImportError as error:
            print(f"{name}: left alone, its writer is not installed ({error})", file=sys.stderr)
            skipped += 1
            continue
        if arguments.check:
            if not path.exists() or path.read_bytes() != data:
                print(f"{name}: differs from {path}", file=sys.stderr)
                differing += 1
        else:
            OUTPUT.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    print(f"{len(arguments.formats or RECIPES) - skipped} formats, {skipped} skipped, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
