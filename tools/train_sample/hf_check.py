"""Compare the reference with the LlamaForCausalLM of transformers on the dequantised weights of a checkpoint."""

import argparse
import pathlib

import torch
from reference import Reference
from tokenizers import Tokenizer
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM


@torch.no_grad()
def main() -> None:
    """Print the largest logit difference; fail if tokens or greedy text differ."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("model", type=pathlib.Path)
    ap.add_argument("--prompt", default="Once upon a time, there was a brave boy named Tom.")
    args = ap.parse_args()
    reference = Reference(args.model)
    llama = LlamaForCausalLM(LlamaConfig.from_pretrained(args.model)).float().eval()
    llama.load_state_dict(reference.weights)
    ids = Tokenizer.from_file(str(args.model / "tokenizer.json")).encode(args.prompt).ids
    if AutoTokenizer.from_pretrained(args.model)(args.prompt).input_ids != ids:
        raise SystemExit("transformers tokenises the prompt differently")
    ours, theirs = reference.forward(torch.tensor(ids)), llama(torch.tensor([ids])).logits[0]
    print("largest logit difference", float((ours - theirs).abs().max()), "of", float(ours.abs().max()))
    prompt = torch.tensor([ids])
    out = llama.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=100, do_sample=False, pad_token_id=0
    )[0].tolist()
    if [t for t in out if t] != reference.greedy(ids, 100):
        raise SystemExit("greedy texts differ")
    print("same greedy text")


if __name__ == "__main__":
    main()
