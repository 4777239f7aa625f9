"""Measure how far apart the two best tokens are along greedy continuations, and whether other arithmetics agree.

A greedy text is only worth comparing between kernels when no step of it is a near tie. Writes prompts.json: for each
prompt its ids, the greedy continuation in fp32, the smallest margin between the best two logits (the step that ends
the text included), and for bf16 and int8 activations whether they give the same text and their largest logit error.
"""

import argparse
import json
import pathlib
import random
import re

import torch
from grammar import full_story
from reference import Reference
from tokenizers import Tokenizer

LONG = 32  # tokens a drawn prompt has to be continued by


def measure(model: Reference, tok: Tokenizer, prompt: str, new: int) -> dict:
    """The fp32 record of one prompt."""
    ids = tok.encode(prompt).ids
    model.arithmetic = "fp32"
    full = model.greedy(ids, new)
    ended = len(full) - len(ids) < new
    best = model.forward(torch.tensor(full))[answered(len(ids), len(full), ended)].topk(2).values
    margins = best[:, 0] - best[:, 1]
    return {
        "prompt": prompt,
        "prompt_ids": ids,
        "continuation": tok.decode(full)[len(prompt) :],
        "continuation_ids": full[len(ids) :],
        "ended": ended,
        "smallest_margin": round(float(margins.min()), 5),
        "smallest_margin_at": int(margins.argmin()),
    }


def answered(prompt: int, full: int, ended: bool) -> slice:
    """The positions whose logits chose a token: those of the continuation, and the end mark if there was one."""
    return slice(prompt - 1, full if ended else full - 1)


def compare(model: Reference, record: dict, end: int) -> dict:
    """Whether bf16 and a8 give the same text as fp32, and their largest logit error along it.

    The text is the same exactly if, fed with it, every step chooses its next token.
    """
    full = record["prompt_ids"] + record["continuation_ids"]
    steps = answered(len(record["prompt_ids"]), len(full), record["ended"])
    chosen = record["continuation_ids"] + [end] * record["ended"]
    model.arithmetic = "fp32"
    logits = model.forward(torch.tensor(full))[steps]
    out = {}
    for model.arithmetic in ("bf16", "a8"):
        other = model.forward(torch.tensor(full))[steps]
        same = other.argmax(1).tolist() == chosen
        out[model.arithmetic] = {
            "same_text": same,
            "largest_logit_error": round(float((other - logits).abs().max()), 4),
        }
    return out


def drawn(count: int, seed: int) -> list[str]:
    """Prompts from the grammar: the first sentences of stories, up to half of the story."""
    r = random.Random(seed)
    out = []
    for _ in range(count):
        sentences = re.findall(r'.*?[.!?]"?(?= |$)', full_story(r))
        out.append("".join(sentences[: r.randint(1, len(sentences) // 2)]))
    return out


def widest(records: list[dict], count: int) -> list[dict]:
    """The records of the largest margins with LONG tokens or more, no two of which go on with the same eight."""
    kept: dict[tuple[int, ...], dict] = {}
    for record in sorted(records, key=lambda r: -r["smallest_margin"]):
        if len(record["continuation_ids"]) < LONG:
            continue
        kept.setdefault(tuple(record["continuation_ids"][:8]), record)
    return list(kept.values())[:count]


@torch.no_grad()
def main() -> None:
    """Measure the prompts of a file and drawn ones; keep all of the first and the widest of the rest."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", type=pathlib.Path)
    ap.add_argument("prompts", type=pathlib.Path, help="text file, one prompt a line")
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--new", type=int, default=120)
    ap.add_argument("--draw", type=int, default=24, help="prompts to draw from the grammar")
    ap.add_argument("--keep", type=int, default=8, help="how many of those to keep")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--threads", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    tok = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    model = Reference(args.model)
    lines = [line for line in args.prompts.read_text(encoding="utf-8").splitlines() if line]
    records = [measure(model, tok, line, args.new) for line in lines]
    records += widest([measure(model, tok, p, args.new) for p in drawn(args.draw, args.seed)], args.keep)
    records.sort(key=lambda r: -r["smallest_margin"])
    for r in records:
        r |= compare(model, r, model.config["eos_token_id"])
        print(f"{r['smallest_margin']:.4f} bf16 {r['bf16']} a8 {r['a8']}\n  {r['prompt']} |{r['continuation']}\n")
    args.out.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
