"""Recipes of tools/make_golden_packing.py for the blocks of ggml (written or read by the gguf package)
and for conventions of libraries in plain numpy."""

import importlib.metadata

import numpy as np
from golden_from_zoo import CASES, golden_of_case

GGUF_WRITTEN = {"q4_0": "Q4_0", "q4_1": "Q4_1", "q5_0": "Q5_0", "q5_1": "Q5_1", "q8_0": "Q8_0",
                "mxfp4": "MXFP4"}
# Only read by the package: random codes, and halves that are finite numbers at these offsets.
GGUF_READ = {"q2_k": ("Q2_K", (80, 82)), "q3_k": ("Q3_K", (108,)), "q4_k": ("Q4_K", (0, 2)),
             "q5_k": ("Q5_K", (0, 2)), "q6_k": ("Q6_K", (208,)), "iq4_nl": ("IQ4_NL", (0,)),
             "iq4_xs": ("IQ4_XS", (0,)), "nvfp4": ("NVFP4", ())}


def of_case(Golden, name, rng):
    dense, tensors, writer, version = golden_of_case(name)
    return Golden(dense, writer=writer, version=version, **tensors)


def gguf_written(Golden, name, rng):
    import gguf

    kind = getattr(gguf.GGMLQuantizationType, GGUF_WRITTEN[name])
    master = rng.normal(0, 0.02, size=(3, 128)).astype(np.float32)
    data = gguf.quants.quantize(master, kind)
    return Golden(gguf.quants.dequantize(data, kind), writer="gguf",
                  version=importlib.metadata.version("gguf"), codes=data)


def gguf_read(Golden, name, rng):
    import gguf

    kind_name, halves = GGUF_READ[name]
    kind = getattr(gguf.GGMLQuantizationType, kind_name)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, size=(3 * 512 // elements, size), dtype=np.uint8)
    for offset in halves:
        scale = rng.uniform(0.001, 0.004, size=len(blocks)).astype(np.float16)
        blocks[:, offset:offset + 2] = scale.view(np.uint8).reshape(-1, 2)
    if name == "nvfp4":  # four scales of positive finite e4m3
        blocks[:, :4] = rng.integers(1, 0x7E, size=(len(blocks), 4))
    data = blocks.reshape(3, -1)
    return Golden(gguf.quants.dequantize(data, kind), writer="gguf (reader)",
                  version=importlib.metadata.version("gguf"), codes=data,
                  note="the package only reads this type; it reads these bytes")


def words_of_bits(bits):
    """int32 words from bits, lowest first, along the first axis."""
    count, *rest = bits.shape
    weights = (1 << np.arange(32, dtype=np.uint64)).reshape(1, 32, *[1] * len(rest))
    words = (bits.reshape(count // 32, 32, *rest).astype(np.uint64) * weights).sum(axis=1)
    return words.astype(np.uint32).view(np.int32)


def bits_along(codes, bits):
    """[count, …] codes → [count · bits, …] bits, lowest first."""
    parts = [(codes >> bit) & 1 for bit in range(bits)]
    return np.stack(parts, axis=1).reshape(codes.shape[0] * bits, *codes.shape[1:])


def gptq_codes(rng, bits, n, k, group):
    codes = rng.integers(0, 2**bits, size=(k, n))
    zeros = rng.integers(1, 2**bits, size=(k // group, n))
    scales = rng.uniform(0.01, 0.05, size=(k // group, n)).astype(np.float16)
    dense = (codes - np.repeat(zeros, group, axis=0)) * np.repeat(scales, group, axis=0).astype(
        np.float32)
    return codes, zeros, scales, dense.T


def gptq_3bit(Golden, name, rng):
    """32 codes of a column in three words, without gaps; zero points less one along N."""
    codes, zeros, scales, dense = gptq_codes(rng, 3, 64, 128, 64)
    return Golden(dense, codes=words_of_bits(bits_along(codes, 3)), scale=scales,
                  zero=words_of_bits(bits_along(zeros.T - 1, 3)).T)


def gptq_planar(Golden, name, rng):
    """Of 32 codes of a column the lowest bits first, a plane a few words."""
    widths = [2, 1] if "3bit" in name else [4, 2, 1]
    bits = sum(widths)
    codes, zeros, scales, dense = gptq_codes(rng, bits, 64, 64, 64)

    def planar(values):
        words = []
        for start in range(0, len(values), 32):
            some, low = values[start:start + 32], 0
            for width in widths:
                words.append(words_of_bits(bits_along((some >> low) & (2**width - 1), width)))
                low += width
        return np.concatenate(words)

    return Golden(dense, codes=planar(codes), scale=scales, zero=planar(zeros.T).T)


def onnx_4bit(Golden, name, rng):
    n, k, block = 5, 96, 32
    codes = rng.integers(0, 16, size=(n, k))
    zeros = rng.integers(0, 16, size=(n, k // block))
    scale = rng.uniform(0.01, 0.05, size=(n, k // block)).astype(np.float32)
    padded = np.pad(zeros, ((0, 0), (0, 1)))  # whole bytes
    dense = (codes - np.repeat(zeros, block, axis=1)) * np.repeat(scale, block, axis=1)
    return Golden(dense, codes=(codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8), scale=scale,
                  zero=(padded[:, ::2] | padded[:, 1::2] << 4).astype(np.uint8))


def onebit(Golden, name, rng):
    n, k = 6, 40
    signs = rng.choice(np.array([-1, 1]), size=(n, k))
    row = rng.uniform(0.5, 2, size=n).astype(np.float16)
    column = rng.uniform(0.01, 0.05, size=k).astype(np.float16)
    dense = signs * np.outer(row.astype(np.float32), column.astype(np.float32))
    packed = np.packbits(signs < 0, axis=1, bitorder="little").view(np.int8)
    return Golden(dense, codes=packed, scale=row, column_scale=column)


def bnb_nested(Golden, name, rng):
    """nf4 with the absmax of 64 weights as bytes into a table, scaled in groups of 256."""
    n, k = 160, 128
    codes = rng.integers(0, 16, size=n * k)
    levels = np.sort(rng.uniform(-1, 1, size=16)).astype(np.float32)
    table = np.sort(rng.uniform(-1, 1, size=256)).astype(np.float32)
    absmax = rng.integers(0, 256, size=n * k // 64).astype(np.uint8)
    factors = rng.uniform(0.01, 0.02, size=-(-len(absmax) // 256)).astype(np.float32)
    scale = table[absmax] * np.repeat(factors, 256)[:len(absmax)] + np.float32(0.03125)
    dense = (levels[codes] * np.repeat(scale, 64)).reshape(n, k)
    return Golden(dense, codes=(codes[::2] << 4 | codes[1::2]).astype(np.uint8), scale=absmax,
                  scale_table=table, scale_scale=factors, table=levels)


def tl1(Golden, name, rng):
    """The loops of the writer: BM, BK, bm; two pairs of trits a byte, the first one high."""
    big_rows, columns, rows, width = 256, 128, 32, 8
    n, k = 256, 256
    weights = rng.choice(np.array([-1, 0, 1]), size=(n, k))
    scale = rng.uniform(0.01, 0.05, size=1).astype(np.float32)
    packed = []
    for mo in range(n // big_rows):
        for ko in range(k // columns):
            for mi in range(big_rows // rows):
                for kb in range(columns // width):
                    for ms in range(rows // 16):
                        for ks in range(width // 4):
                            for r in range(16):
                                row = weights[mo * big_rows + mi * rows + 16 * ms + r]
                                a, b, c, d = row[ko * columns + kb * width + 4 * ks:][:4] + 1
                                packed.append((3 * a + b) << 4 | (3 * c + d))
    return Golden(weights * scale, codes=np.array(packed, np.uint8), scale=scale)


NUMPY = {"gptq-3bit": gptq_3bit, "gptq-planar-3bit": gptq_planar, "gptq-planar-7bit": gptq_planar,
         "onnx-4bit": onnx_4bit, "onebit": onebit, "bnb-nf4-nested": bnb_nested, "tl1": tl1}
ALL = {**{name: of_case for name in CASES}, **{name: gguf_written for name in GGUF_WRITTEN},
       **{name: gguf_read for name in GGUF_READ}, **NUMPY}
