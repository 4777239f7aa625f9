"""Dequantise a GGUF file into a Hugging Face folder (safetensors, config, tokenizer) with transformers.

Needs the packages gguf and accelerate beside transformers.
"""

import argparse
import pathlib

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main() -> None:
    """Convert one file."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("gguf", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    args = ap.parse_args()
    dtype = getattr(torch, args.dtype)
    tok = AutoTokenizer.from_pretrained(str(args.gguf.parent), gguf_file=args.gguf.name)
    model = AutoModelForCausalLM.from_pretrained(str(args.gguf.parent), gguf_file=args.gguf.name, dtype=torch.float32)
    # A model read from GGUF is marked as quantised and refuses save_pretrained: its plain tensors go to a fresh one.
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = args.dtype
    plain = type(model)(config).to(dtype)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(args.out)
    tok.save_pretrained(args.out)
    for path in sorted(args.out.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
