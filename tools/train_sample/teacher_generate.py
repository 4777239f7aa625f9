"""Let the teacher continue story openings: batched sampling on the CPU, one JSON object per line.

The output vocabulary is restricted to frequent tokens (keep.json). A row leaves the batch when the teacher ends the
story, or as soon as a sequence of six tokens repeats: what follows such a repetition is a loop, and would be cut away
by the filter anyway.
"""

import argparse
import json
import pathlib
import random
import time

import torch
from openings import opening
from teacher_model import Cache, Teacher
from tokenizers import Tokenizer

ASK = (
    "<|im_start|>user\nFinish this story for little children with a few short and simple sentences.<|im_end|>\n"
    "<|im_start|>assistant\n"
)
WINDOW = 40  # how far back the penalty on repeated tokens looks
LOOP = 6  # a repeated sequence of so many tokens ends a row


def sample(logits: torch.Tensor, temperature: float, min_p: float, gen: torch.Generator) -> torch.Tensor:
    """Draw one index per row of logits [B, V] among those with at least min_p of the top probability."""
    z = logits / temperature
    cut = z.amax(1, keepdim=True) + torch.tensor(min_p).log()
    gumbel = -torch.log(-torch.log(torch.rand(z.shape, generator=gen).clamp_min(1e-12)))
    return torch.where(z >= cut, z + gumbel, -torch.inf).argmax(1)


def looped(tokens: list[int]) -> bool:
    """Whether the last LOOP tokens already stood earlier in the list."""
    tail = tokens[-LOOP:]
    return any(tokens[i : i + LOOP] == tail for i in range(len(tokens) - LOOP))


class Pool:
    """Openings sorted by token count, so that a batch needs no padding."""

    def __init__(self, tok: Tokenizer, seed: int) -> None:
        self.tok, self.rng = tok, random.Random(seed)
        self.by_length: dict[int, list[tuple[list[int], str, str]]] = {}

    def take(self, count: int) -> list[tuple[list[int], str, str]]:
        """`count` triples (token ids, opening, name) of one common length."""
        while True:
            for waiting in self.by_length.values():
                if len(waiting) >= count:
                    taken, waiting[:count] = waiting[:count], []
                    return taken
            for _ in range(count):
                text, name = opening(self.rng)
                ids = self.tok.encode(text, add_special_tokens=False).ids
                self.by_length.setdefault(len(ids), []).append((ids, text, name))


def continue_batch(
    teacher: Teacher, prefix: Cache, openings: list[list[int]], keep: torch.Tensor, args: argparse.Namespace,
    ends: set[int], gen: torch.Generator,
) -> list[tuple[list[int], bool]]:  # fmt: skip
    """Continue each opening args.copies times; per row the new token ids and whether the teacher ended it."""
    ids = torch.tensor(openings)
    cache = prefix.grown(torch.zeros(len(ids), dtype=torch.long), prefix.used + ids.shape[1])
    logits = teacher.step(ids, cache)
    spread = torch.arange(len(ids)).repeat_interleave(args.copies)
    cache, logits = cache.grown(spread, cache.used + args.new), logits[spread]
    out: list[list[int]] = [[] for _ in spread]
    done, ended = [False] * len(out), [False] * len(out)
    rows = list(range(len(out)))
    seen = torch.zeros(len(out), args.new, dtype=torch.long)  # indices into keep
    for s in range(args.new):
        if s:
            history = seen[:, max(0, s - WINDOW) : s]
            logits = logits.scatter_add(1, history, torch.full(history.shape, -args.repeat_penalty))
        pick = sample(logits, args.temperature, args.min_p, gen)
        seen[:, s] = pick
        for row, token in zip(rows, keep[pick].tolist(), strict=True):
            if done[row]:
                continue
            ended[row] = token in ends
            if not ended[row]:
                out[row].append(token)
            done[row] = ended[row] or looped(openings[int(spread[row])] + out[row])
        live = [j for j, row in enumerate(rows) if not done[row]]
        if not live or s + 1 == args.new:
            break
        if len(live) < 0.9 * len(rows):
            index = torch.tensor(live)
            rows, pick, seen = [rows[j] for j in live], pick[index], seen[index]
            cache = cache.grown(index, cache.keys[0].shape[2])
        logits = teacher.step(keep[pick][:, None], cache)
    return list(zip(out, ended, strict=True))


@torch.inference_mode()
def main() -> None:
    """Generate until the asked number of batches or the time limit is reached, appending to the output file."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("teacher", type=pathlib.Path, help="Hugging Face folder made by gguf_to_hf.py")
    ap.add_argument("out", type=pathlib.Path, help="JSON-lines file to append to")
    ap.add_argument("--keep", type=pathlib.Path, required=True, help="JSON list of token ids the teacher may emit")
    ap.add_argument("--openings", type=int, default=48, help="openings per batch")
    ap.add_argument("--copies", type=int, default=2, help="continuations of each opening")
    ap.add_argument("--new", type=int, default=72, help="most new tokens of a continuation")
    ap.add_argument("--batches", type=int, default=1000)
    ap.add_argument("--minutes", type=float, default=20.0)
    ap.add_argument("--temperature", type=float, default=0.7)
    ap.add_argument("--min-p", type=float, default=0.15)
    ap.add_argument("--repeat-penalty", type=float, default=0.12, help="taken off a logit per earlier occurrence")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    tok = Tokenizer.from_file(str(args.teacher / "tokenizer.json"))
    keep = json.loads(args.keep.read_text())
    teacher = Teacher(args.teacher, keep)
    ends = {tok.token_to_id("<|im_end|>"), tok.token_to_id("<|endoftext|>")}
    ask = tok.encode(ASK, add_special_tokens=False).ids
    prefix = teacher.empty_cache(1, len(ask))
    teacher.step(torch.tensor([ask]), prefix)
    pool, gen = Pool(tok, args.seed), torch.Generator().manual_seed(args.seed)
    begin, total = time.monotonic(), 0
    for batch in range(args.batches):
        if time.monotonic() - begin > args.minutes * 60:
            break
        taken = pool.take(args.openings)
        rows = continue_batch(teacher, prefix, [t[0] for t in taken], torch.tensor(keep), args, ends, gen)
        with args.out.open("a", encoding="utf-8") as f:
            for i, (tokens, ended) in enumerate(rows):
                _, start, name = taken[i // args.copies]
                line = {"start": start, "name": name, "text": start + tok.decode(tokens), "ended": ended}
                f.write(json.dumps(line) + "\n")
        total += sum(len(tokens) for tokens, _ in rows)
        wall, cpu = time.monotonic() - begin, time.process_time()
        print(
            f"batch {batch}: {total} tokens, {wall:.0f} s, {total / wall:.0f} tok/s, {total / cpu:.0f} tok/CPU-s",
            flush=True,
        )


if __name__ == "__main__":
    main()
