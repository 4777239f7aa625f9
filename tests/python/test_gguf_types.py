"""Tensor types of GGUF, on bytes made at random: every weight as gguf-py dequantises it."""

import json
import subprocess

import gguf
import numpy as np
import pytest
import safetensors.numpy

Q = gguf.GGMLQuantizationType
ROWS, COLS = 24, 1024
# Offsets of the F16 scales and minima in a block.
HALVES = {Q.Q4_0: [0], Q.Q4_1: [0, 2], Q.Q5_0: [0], Q.Q5_1: [0, 2], Q.Q8_0: [0], Q.Q2_K: [80, 82],
          Q.Q3_K: [108], Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208], Q.IQ4_NL: [0],
          Q.IQ4_XS: [0]}
EXPONENTS = {Q.MXFP4: [0]}


def random_blocks(kind, seed):
    """[ROWS, bytes] whose fields are spread as codes are, with scales of a usual size."""
    random = np.random.default_rng(seed)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.binomial(15, 0.5, (ROWS * COLS // elements, size, 2)).astype(np.uint8)
    blocks = blocks[..., 0] | blocks[..., 1] << 4
    for offset in HALVES.get(kind, []):
        scale = random.uniform(0.001, 0.01, len(blocks)).astype("<f2")
        blocks[:, offset:offset + 2] = scale.view(np.uint8).reshape(-1, 2)
    for offset in EXPONENTS.get(kind, []):
        blocks[:, offset] = random.integers(116, 124, len(blocks))
    return blocks.reshape(ROWS, -1)


@pytest.mark.parametrize("kind", [*HALVES, *EXPONENTS], ids=lambda kind: kind.name)
def test_weights_are_those_of_gguf(program, kind, tmp_path):
    data = random_blocks(kind, seed=int(kind))
    model = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(model, "llama")
    writer.add_tensor("blk.0.ffn_down.weight", data, raw_dtype=kind)
    writer.add_tensor("blk.0.attn_norm.weight", np.ones(COLS, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    sheet, dense = tmp_path / "sheet.json", tmp_path / "dense.safetensors"
    done = subprocess.run([program, "inspect", model, "--json", sheet, "--unpack", dense],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (module,) = json.loads(sheet.read_text())["modules"]
    assert module["shape"] == [ROWS, COLS]
    wanted = gguf.quants.dequantize(data, kind)
    (found,) = safetensors.numpy.load_file(dense).values()
    # gguf-py multiplies in float32, in another order for types with two levels.
    assert np.abs(found - wanted).max() <= 4e-7 * np.abs(wanted).max()
