"""Independent check of the packed checkpoint: plain PyTorch, sharing no code with the training.

The packing is restated here:
  X.weight_ternary  uint8 [N, K/4]; byte j of a row holds columns 4j..4j+3, the lowest two bits first; 0 -> 0, 1 -> +1,
                    2 -> -1, 3 does not occur
  X.weight_scale    fp16 [N], one factor per output channel: W = scale[:, None] * code
Three arithmetics: fp32; bf16 (both operands of the ternary matmuls rounded); a8 (their input rounded to int8
per token).
"""

import argparse
import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

ARITHMETICS = ("fp32", "bf16", "a8")


def unpack(packed: torch.Tensor) -> torch.Tensor:
    """Codes -1, 0, 1 as fp32 [N, K] from uint8 [N, K/4]."""
    code = torch.stack([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], -1).flatten(1)
    if int(code.max()) > 2:
        raise ValueError("code 3 occurs")
    return (code == 1).float() - (code == 2).float()


class Reference:
    """The model in fp32 with dequantised weights."""

    def __init__(self, folder: pathlib.Path, arithmetic: str = "fp32") -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.arithmetic = arithmetic
        stored = load_file(folder / "model.safetensors")
        self.weights: dict[str, torch.Tensor] = {}
        for name, t in stored.items():
            if name.endswith("_ternary"):
                base = name.removesuffix("_ternary")
                self.weights[base] = unpack(t) * stored[base + "_scale"].float()[:, None]
            elif not name.endswith("_scale"):
                self.weights[name] = t.float()

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """x [S, K] times a ternary weight [N, K], in the chosen arithmetic."""
        weight = self.weights[name]
        if self.arithmetic == "bf16":
            return x.bfloat16().float() @ weight.bfloat16().float().T
        if self.arithmetic == "a8":
            factor = 127.0 / x.abs().amax(-1, keepdim=True).clamp_min(1e-5)
            x = (x * factor).round().clamp(-128, 127) / factor
        return x @ weight.T

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """RMS normalisation of [S, C]."""
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"])
        return x * scale * self.weights[name]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits [S, V] of one text, ids [S]."""
        c, length = self.config, len(ids)
        heads, kv, dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        angle = torch.arange(length)[:, None] * c["rope_theta"] ** (-torch.arange(0, dim, 2) / dim)[None]
        cos, sin = torch.cat([angle.cos()] * 2, 1), torch.cat([angle.sin()] * 2, 1)

        def rope(x: torch.Tensor) -> torch.Tensor:
            return x * cos + torch.cat([-x[..., dim // 2 :], x[..., : dim // 2]], -1) * sin

        mask = torch.full((length, length), float("-inf")).triu(1)
        x = self.weights["model.embed_tokens.weight"][ids]
        for i in range(c["num_hidden_layers"]):
            p = f"model.layers.{i}."
            y = self.norm(x, p + "input_layernorm.weight")
            q, k, v = (self.linear(y, f"{p}self_attn.{n}_proj.weight").view(length, -1, dim) for n in "qkv")
            q, k, v = rope(q.transpose(0, 1)), rope(k.transpose(0, 1)), v.transpose(0, 1)
            k, v = k.repeat_interleave(heads // kv, 0), v.repeat_interleave(heads // kv, 0)
            out = torch.softmax(q @ k.mT / dim**0.5 + mask, -1) @ v
            x = x + self.linear(out.transpose(0, 1).reshape(length, heads * dim), p + "self_attn.o_proj.weight")
            y = self.norm(x, p + "post_attention_layernorm.weight")
            gate, up = self.linear(y, p + "mlp.gate_proj.weight"), self.linear(y, p + "mlp.up_proj.weight")
            x = x + self.linear(gate * torch.sigmoid(gate) * up, p + "mlp.down_proj.weight")
        return self.norm(x, "model.norm.weight") @ self.weights["lm_head.weight"].T

    def greedy(self, ids: list[int], new: int) -> list[int]:
        """The prompt and up to `new` greedy tokens; the end mark is not included."""
        ids = list(ids)
        for _ in range(new):
            token = int(self.forward(torch.tensor(ids))[-1].argmax())
            if token == self.config["eos_token_id"]:
                break
            ids.append(token)
        return ids

    def loss(self, tok: Tokenizer, texts: list[str]) -> dict[str, float]:
        """Held-out loss per token and per character; the end mark counts, the first token is not predicted."""
        total, tokens, characters = 0.0, 0, 0
        for text in texts:
            ids = torch.tensor([*tok.encode(text).ids, self.config["eos_token_id"]][:193])
            total += F.cross_entropy(self.forward(ids[:-1]), ids[1:], reduction="sum").item()
            tokens += len(ids) - 1
            characters += len(text)
        return {"nats_per_token": total / tokens, "nats_per_character": total / characters, "tokens": tokens}


@torch.no_grad()
def main() -> None:
    """Print greedy continuations and held-out losses."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", type=pathlib.Path)
    ap.add_argument("--prompt", action="append", default=[])
    ap.add_argument("--new", type=int, default=160)
    ap.add_argument("--heldout", type=pathlib.Path, help="JSON: name -> list of texts")
    ap.add_argument("--threads", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    tok = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    model = Reference(args.model)
    for prompt in args.prompt:
        ids = model.greedy(tok.encode(prompt).ids, args.new)
        print(f"[{len(ids)} tokens] {tok.decode(ids)}\n")
    if args.heldout:
        for model.arithmetic in ARITHMETICS:
            for name, texts in json.loads(args.heldout.read_text()).items():
                print(name, model.arithmetic, {k: round(v, 5) for k, v in model.loss(tok, texts).items()})


if __name__ == "__main__":
    main()
