#!/usr/bin/env python3
"""Writes a ternary (or int8) checkpoint of the size of a real one, to measure what `trilith inspect` costs.

usage: big_checkpoint.py KIND FOLDER [--gigabytes 0.8] [--seed 1]

KIND    bitnet   quarter planes along N, one scale a matrix, announced as transformers writes it
        names    4 codes a byte along K, row scales, usual names, nothing announced
        neutral  the same bytes under names that say nothing
        int8     int8 with row scales, usual names
        gguf     one file of TQ2_0 blocks

Matrices have the shapes of a 2.4B model (hidden 2560, ffn 6912) with as many layers as fill the size; the
embedding (BF16) is part of it. What trained weights have and random ones lack is planted: strong residual
channels that norms and the embedding share, ffn neurons and value dims that writers and readers share, rows of
their own strength. The first layer is drawn, the others are it with signs and scales drawn anew. Three shards;
no tokenizer, so that nothing is probed.
"""

import argparse
import json
import pathlib

import numpy as np

HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 2560, 6912, 20, 5, 128, 32000
SHAPES = {"self_attn.q_proj": (HIDDEN, HIDDEN), "self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
          "self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN), "self_attn.o_proj": (HIDDEN, HIDDEN),
          "mlp.gate_proj": (FFN, HIDDEN), "mlp.up_proj": (FFN, HIDDEN), "mlp.down_proj": (HIDDEN, FFN)}
NORMS = ("input_layernorm", "post_attention_layernorm")
GGUF_NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
              "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
              "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
              "post_attention_layernorm": "ffn_norm"}


class Layer:
    """Codes 0, 1, 2 (for -1, 0, +1), or int8 values, of one drawn layer, and what its neighbours share."""

    def __init__(self, rng: np.random.Generator, int8: bool) -> None:
        self.rng = rng
        self.channels = self.strengths(HIDDEN)
        neurons = self.strengths(FFN)
        values = self.strengths(KV_HEADS * HEAD_DIM)
        per_query = np.repeat(values.reshape(KV_HEADS, 1, HEAD_DIM), HEADS // KV_HEADS, 1).reshape(-1)
        rows = {"mlp.gate_proj": neurons, "mlp.up_proj": neurons, "self_attn.v_proj": values,
                "self_attn.o_proj": self.channels, "mlp.down_proj": self.channels}
        columns = {"mlp.down_proj": neurons, "self_attn.o_proj": per_query}
        self.rows = {name: rows.get(name, self.strengths(shape[0])) for name, shape in SHAPES.items()}
        draw = self.int8 if int8 else self.ternary
        self.codes = {name: draw(self.rows[name], columns.get(name, self.channels))
                      for name in SHAPES}

    def strengths(self, count: int) -> np.ndarray:
        strength = np.exp(0.2 * self.rng.standard_normal(count))
        strength[self.rng.integers(0, count, max(1, count // 200))] *= 3
        return strength.astype(np.float32)

    def ternary(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        # A weight is zero where its draw stays under half of the mean magnitude of its row.
        share = np.clip(0.32 * (np.outer(rows**-0.15, 1 / columns)), 0.02, 0.9)
        draws = self.rng.integers(0, 256, share.shape, np.uint8)
        limit = (256 * share).astype(np.uint8)
        return np.where(draws < limit, np.uint8(1), (draws & np.uint8(1)) * np.uint8(2))

    def int8(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        weights = self.rng.standard_normal((len(rows), len(columns)), np.float32) * columns
        return np.rint(weights * (127 / np.abs(weights).max(1, keepdims=True))).astype(np.int8)


def pack_k(codes: np.ndarray) -> np.ndarray:
    return codes[:, ::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6


def pack_quarters(codes: np.ndarray) -> np.ndarray:
    first, second, third, fourth = np.split(codes, 4)
    return first | second << 2 | third << 4 | fourth << 6


def pack_tq2(codes: np.ndarray) -> np.ndarray:
    fields = codes.reshape(codes.shape[0], -1, 2, 4, 32)
    return (fields[:, :, :, 0] | fields[:, :, :, 1] << 2 | fields[:, :, :, 2] << 4
            | fields[:, :, :, 3] << 6).reshape(codes.shape[0], -1, 64)


PACK = {"bitnet": pack_quarters, "names": pack_k, "neutral": pack_k, "gguf": pack_tq2,
        "int8": lambda codes: codes}


def turn_signs(rng: np.random.Generator, packed: np.ndarray) -> np.ndarray:
    """Every weight that is not zero with a sign drawn anew."""
    draws = np.frombuffer(rng.bytes(packed.size), np.uint8).reshape(packed.shape)
    if packed.dtype == np.int8:
        return packed * np.where(draws & 1, np.int8(1), np.int8(-1))
    return packed ^ ((~packed & np.uint8(0x55) & draws) << 1)


def to_bf16(values: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


DTYPES = {"uint8": "U8", "int8": "I8", "float16": "F16", "float32": "F32", "uint16": "BF16"}


def save(path: pathlib.Path, tensors: dict[str, np.ndarray]) -> None:
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": DTYPES[str(tensor.dtype)], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).data)


class Folder:
    """Safetensors shards of a third of the size each, with their index."""

    def __init__(self, folder: pathlib.Path, shard_bytes: float) -> None:
        self.folder, self.shard_bytes = folder, shard_bytes
        self.shards: list[list[str]] = []
        self.open: dict[str, np.ndarray] = {}

    def add(self, name: str, tensor: np.ndarray) -> None:
        self.open[name] = tensor
        if sum(entry.nbytes for entry in self.open.values()) >= self.shard_bytes:
            self.flush()

    def flush(self) -> None:
        if self.open:
            save(self.folder / f"part-{len(self.shards)}", self.open)
            self.shards.append(list(self.open))
            self.open = {}

    def finish(self, config: dict) -> None:
        self.flush()
        places = {}
        for number, names in enumerate(self.shards):
            file = f"model-{number + 1:05}-of-{len(self.shards):05}.safetensors"
            (self.folder / f"part-{number}").rename(self.folder / file)
            places |= dict.fromkeys(names, file)
        (self.folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": places}))
        (self.folder / "config.json").write_text(json.dumps(config, indent=1))


def config_of(kind: str, layers: int) -> dict:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": HIDDEN,
              "intermediate_size": FFN, "num_hidden_layers": layers, "num_attention_heads": HEADS,
              "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "vocab_size": VOCAB,
              "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": True, "torch_dtype": "bfloat16"}
    if kind == "bitnet":
        config["quantization_config"] = {"quant_method": "bitnet", "linear_class": "bitlinear",
                                         "quantization_mode": "offline",
                                         "modules_to_not_convert": ["lm_head"]}
    return config


def write_folder(kind: str, folder: pathlib.Path, size: float, rng: np.random.Generator) -> None:
    layer = Layer(rng, kind == "int8")
    base = {name: PACK[kind](codes) for name, codes in layer.codes.items()}
    layers = max(1, round((size - 2 * VOCAB * HIDDEN) / sum(codes.nbytes for codes in base.values())))
    out = Folder(folder, size / 3)
    neutral = iter(f"m{number:04}" for number in range(100000))

    def module(name: str, *parts: tuple[str, np.ndarray]) -> None:
        stem = next(neutral) if kind == "neutral" else name
        for number, (part, tensor) in enumerate(parts):
            out.add(f"{stem}.p{number}" if kind == "neutral" else f"{stem}.{part}", tensor)

    embedding = rng.standard_normal((VOCAB, HIDDEN), np.float32) * layer.channels
    module("model.embed_tokens", ("weight", to_bf16(0.02 * embedding)))
    for number in range(layers):
        prefix = f"model.layers.{number}."
        for name in NORMS:
            gains = layer.channels**0.5 * np.exp(0.1 * rng.standard_normal(HIDDEN))
            module(prefix + name, ("weight", to_bf16(gains)))
        for name, codes in base.items():
            packed = turn_signs(rng, codes) if number else codes
            step = 1 / np.sqrt(SHAPES[name][1])
            noise = np.exp(0.05 * rng.standard_normal(SHAPES[name][0]))
            if kind == "bitnet":  # 1 / scale, as `bitlinear` stores it
                module(prefix + name, ("weight", packed),
                       ("weight_scale", to_bf16(np.array([1 / step]))))
            else:
                step = step / 40 if kind == "int8" else step
                module(prefix + name, ("weight", packed),
                       ("weight_scale", (step * layer.rows[name] * noise).astype(np.float16)))
    module("model.norm", ("weight", to_bf16(layer.channels**0.5)))
    out.finish(config_of(kind, layers))


def write_gguf(folder: pathlib.Path, size: float, rng: np.random.Generator) -> None:
    import gguf  # pylint: disable=import-outside-toplevel
    layer = Layer(rng, False)
    base = {name: pack_tq2(codes) for name, codes in layer.codes.items()}
    layers = max(1, round((size - 2 * VOCAB * HIDDEN)
                          / sum(codes.nbytes * 66 / 64 for codes in base.values())))
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    writer.add_block_count(layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_vocab_size(VOCAB)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    embedding = (0.02 * rng.standard_normal((VOCAB, HIDDEN), np.float32) * layer.channels)
    writer.add_tensor("token_embd.weight", embedding.astype(np.float16))
    for number in range(layers):
        for name in NORMS:
            gains = layer.channels**0.5 * np.exp(0.1 * rng.standard_normal(HIDDEN))
            writer.add_tensor(f"blk.{number}.{GGUF_NAMES[name]}.weight", gains.astype(np.float32))
        for name, codes in base.items():
            scales = np.empty(codes.shape[:2] + (1,), np.float16)
            scales[...] = (layer.rows[name] / np.sqrt(SHAPES[name][1]))[:, None, None]
            blocks = np.concatenate([turn_signs(rng, codes), scales.view(np.uint8)], axis=2)
            writer.add_tensor(f"blk.{number}.{GGUF_NAMES[name]}.weight",
                              blocks.reshape(blocks.shape[0], -1),
                              raw_dtype=gguf.GGMLQuantizationType.TQ2_0)
    writer.add_tensor("output_norm.weight", (layer.channels**0.5).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(PACK))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gigabytes", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    if options.kind == "gguf":
        write_gguf(options.folder, options.gigabytes * 1e9, rng)
    else:
        write_folder(options.kind, options.folder, options.gigabytes * 1e9, rng)


if __name__ == "__main__":
    main()
