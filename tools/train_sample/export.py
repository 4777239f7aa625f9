"""Write the trained model as a Hugging Face style folder with packed ternary weights."""

import dataclasses
import json
import pathlib

import torch
from model import Model
from safetensors.torch import save_file
from ternary import Masters, pack, ternarise
from tokenizers import Tokenizer

END = "<|endoftext|>"


def write_json(path: pathlib.Path, value: dict) -> None:
    """Indented JSON with a final newline."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def tensors(model: Model, masters: Masters) -> tuple[dict[str, torch.Tensor], dict[str, int]]:
    """The tensors of the file, and how often each code occurs in them."""
    master_of = {id(p): m for p, m in zip(masters.seen, masters.params, strict=True)}
    out: dict[str, torch.Tensor] = {}
    histogram = {"-1": 0, "0": 0, "+1": 0}
    for name, p in model.named_parameters():
        if id(p) in master_of:
            codes, scale = ternarise(master_of[id(p)].detach())
            for key in histogram:
                histogram[key] += int((codes == int(key)).sum())
            out[f"model.{name}_ternary"] = pack(codes)
            out[f"model.{name}_scale"] = scale[:, 0].half()
            continue
        full = name if name.startswith("lm_head") else f"model.{name}"
        out[full if full.endswith(".weight") else f"{full}.weight"] = p.detach().half()
    return dict(sorted(out.items())), histogram


def export(model: Model, masters: Masters, tok: Tokenizer, folder: pathlib.Path, record: dict) -> None:
    """Write config, tokenizer, weights and the training record.

    On purpose the config has no quantization_config: the folder plays the checkpoint of an undocumented format.
    """
    folder.mkdir(parents=True, exist_ok=True)
    out, histogram = tensors(model, masters)
    write_json(
        folder / "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "tie_word_embeddings": False,
            "torch_dtype": "float16",
            **dataclasses.asdict(model.shape),
        },
    )
    write_json(folder / "generation_config.json", {"bos_token_id": 0, "eos_token_id": 0, "do_sample": False})
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": END,
            "eos_token": END,
            "unk_token": None,
            "add_bos_token": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": model.shape.max_position_embeddings,
        },
    )
    tok.save(str(folder / "tokenizer.json"))
    weights = folder / "model.safetensors"
    save_file({k: v.contiguous() for k, v in out.items()}, str(weights), metadata={"format": "pt"})
    weights.chmod(0o644)  # safetensors leaves it readable by its owner only
    write_json(folder / "training.json", {"histogram": histogram, **record})
