"""Train the sample model: ternary matrices by straight-through gradients, Muon for them, AdamW for the rest.

The schedule counts steps: warm-up, a constant phase during which the matrices turn from full precision to ternary,
then a linear decay to zero. Data order depends on seed and step only. With --checkpoint the state is saved regularly,
so that a decay can be started from any saved step (--resume with other --decay-from and --steps).
"""

import argparse
import json
import math
import pathlib
import time

import torch
import torch.nn.functional as F
from corpus import Rows, batch, grammar_stories, teacher_stories
from export import export
from model import Model, Shape
from muon import Muon
from ternary import Masters
from tokenizers import Tokenizer

TEXT_SEED = 7  # of the corpus; the seed of a run changes initial weights and data order only


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("stories", nargs="+", type=pathlib.Path, help="teacher stories, JSON lines, may be gzipped")
    ap.add_argument("--heldout", type=pathlib.Path, required=True, help="JSON: name -> list of texts never trained on")
    ap.add_argument("--tokenizer", type=pathlib.Path, required=True)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--steps", type=int, default=2000)
    ap.add_argument("--decay-from", type=int, default=1100, help="step at which the learning rates begin to fall")
    ap.add_argument("--warm-up", type=int, default=40)
    ap.add_argument(
        "--ramp",
        type=int,
        nargs=2,
        default=(120, 400),
        help="steps between which weights turn ternary; equal: ternary throughout",
    )
    ap.add_argument("--teacher-rows", type=int, default=10, help="rows of teacher stories in a batch")
    ap.add_argument("--grammar-rows", type=int, default=8, help="rows of grammar stories in a batch")
    ap.add_argument("--row", type=int, default=200, help="tokens in a row")
    ap.add_argument("--grammar", type=int, default=24000, help="grammar stories in the corpus")
    ap.add_argument("--held-grammar", type=int, default=192, help="grammar stories kept out, to be evaluated on")
    ap.add_argument("--layers", type=int, default=6)
    ap.add_argument("--muon-lr", type=float, default=0.02)
    ap.add_argument("--adam-lr", type=float, default=3e-3)
    ap.add_argument("--weight-decay", type=float, default=0.01, help="of the matrices, times their learning rate")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--eval-every", type=int, default=200)
    ap.add_argument("--checkpoint", type=pathlib.Path, help="file to save the state in, at every evaluation")
    ap.add_argument("--resume", type=pathlib.Path, help="state file to go on from")
    return ap


class Trainer:
    """Model, masters, optimisers and the data they see."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.tok = Tokenizer.from_file(str(args.tokenizer))
        torch.manual_seed(args.seed)
        self.model = Model(Shape(vocab_size=self.tok.get_vocab_size(), num_hidden_layers=args.layers))
        self.masters = Masters(self.model.matrices())
        self.muon = Muon(self.masters.params, lr=args.muon_lr, decay=args.weight_decay)
        self.adam = torch.optim.AdamW(
            self.model.others(), lr=args.adam_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True
        )
        held = json.loads(args.heldout.read_text())
        all_held = [t for texts in held.values() for t in texts]
        taught = teacher_stories(args.stories, all_held, TEXT_SEED)
        made = grammar_stories(args.grammar + args.held_grammar, all_held, TEXT_SEED + 1)
        self.held = {**held, "new_grammar": made[: args.held_grammar]}
        self.teacher = Rows(self.tok, taught, args.row, 2 * args.seed)
        self.grammar = Rows(self.tok, made[args.held_grammar :], args.row, 2 * args.seed + 1)
        self.corpus = {
            "teacher_stories": len(self.teacher.stories),
            "teacher_tokens": self.teacher.tokens,
            "grammar_stories": len(self.grammar.stories),
            "grammar_tokens": self.grammar.tokens,
        }
        self.step, self.seen_tokens, self.log = 0, 0, []

    def batch_loss(self, ids: torch.Tensor, target: torch.Tensor, story: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the targets; all arguments [B, S]."""
        logits = self.model(ids, story)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-1)

    def share(self) -> float:
        """How far the matrices are on their way to ternary, at the present step."""
        low, high = self.args.ramp
        if high <= low:
            return 1.0
        return min(1.0, max(0.0, (self.step - low) / (high - low)))

    def rate(self) -> float:
        """Factor on the learning rates at the present step."""
        a = self.args
        decay = (a.steps - self.step) / max(1, a.steps - a.decay_from)
        return min(1.0, (self.step + 1) / a.warm_up, decay)

    def next_batch(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The batch of the present step: teacher rows and grammar rows, in fixed proportion."""
        a = self.args
        rows = [self.teacher.row(self.step * a.teacher_rows + i) for i in range(a.teacher_rows)]
        rows += [self.grammar.row(self.step * a.grammar_rows + i) for i in range(a.grammar_rows)]
        return batch(rows, a.row)

    def train_step(self) -> float:
        """One optimiser step; returns the loss of its batch."""
        for group in self.muon.param_groups:
            group["lr"] = self.args.muon_lr * self.rate()
        for group in self.adam.param_groups:
            group["lr"] = self.args.adam_lr * self.rate()
        ids, target, story = self.next_batch()
        self.masters.show(self.share())
        loss = self.batch_loss(ids, target, story)
        loss.backward()
        self.masters.take_gradients()
        torch.nn.utils.clip_grad_norm_(self.model.others(), 1.0)
        self.muon.step()
        self.adam.step()
        self.muon.zero_grad()
        self.adam.zero_grad()
        self.step += 1
        self.seen_tokens += int((target >= 0).sum())
        return loss.item()

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out loss in nats per token, the end mark included, the first token of a text not predicted."""
        self.masters.show(self.share())
        out = {}
        for name, texts in self.held.items():
            rows = sorted(([e.ids[:192]] for e in self.tok.encode_batch(texts)), key=lambda row: len(row[0]))
            total = count = 0
            for i in range(0, len(rows), 16):
                ids, target, story = batch(rows[i : i + 16], len(rows[min(i + 15, len(rows) - 1)][0]))
                tokens = int((target >= 0).sum())
                total += self.batch_loss(ids, target, story).item() * tokens
                count += tokens
            out[name] = round(total / count, 4)
        return out

    @torch.no_grad()
    def greedy(self, prompt: str, new: int = 100) -> str:
        """The greedy continuation by the weights as they are."""
        ids = self.tok.encode(prompt).ids
        for _ in range(new):
            x = torch.tensor([ids])
            token = int(self.model(x, torch.zeros_like(x))[0, -1].argmax())
            if token == 0:
                break
            ids.append(token)
        return self.tok.decode(ids)

    def save(self, path: pathlib.Path) -> None:
        """Write the whole state, first beside the file and then in its place."""
        state = {
            "model": self.model.state_dict(),
            "masters": [p.detach() for p in self.masters.params],
            "muon": self.muon.state_dict(),
            "adam": self.adam.state_dict(),
            "progress": (self.step, self.seen_tokens, self.log),
        }
        beside = path.with_suffix(".part")
        torch.save(state, beside)
        beside.replace(path)

    def load(self, path: pathlib.Path) -> None:
        """Read a state written by `save`."""
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        with torch.no_grad():
            for p, value in zip(self.masters.params, state["masters"], strict=True):
                p.copy_(value)
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])
        self.step, self.seen_tokens, self.log = state["progress"]


def run(args: argparse.Namespace) -> dict[str, float]:
    """Train to the end, write the checkpoint folder, return the final held-out losses."""
    torch.set_num_threads(args.threads)
    t = Trainer(args)
    if args.resume:
        t.load(args.resume)
    print(t.corpus, flush=True)
    begin, mean = time.monotonic(), math.nan
    start_tokens = t.seen_tokens
    while t.step < args.steps:
        loss = t.train_step()
        mean = loss if math.isnan(mean) else 0.97 * mean + 0.03 * loss
        if not math.isfinite(loss):
            raise RuntimeError(f"loss {loss} at step {t.step}")
        if t.step % args.eval_every and t.step not in (20, args.steps):
            continue
        entry = {"step": t.step, "tokens": t.seen_tokens, "ternary": round(t.share(), 3), "rate": round(t.rate(), 4)}
        entry |= {"train": round(mean, 4), **t.evaluate()}
        t.log.append(entry)
        wall = time.monotonic() - begin
        speed = f"{(t.seen_tokens - start_tokens) / wall:.0f} tok/s, {time.process_time() / t.step:.2f} CPU-s/step"
        print(json.dumps(entry), f"{wall:.0f} s, {speed}", flush=True)
        if t.step % (2 * args.eval_every) == 0 or t.step == args.steps:
            print("   >", t.greedy("One day, a small dog named Spot"), flush=True)
        if args.checkpoint:
            t.save(args.checkpoint.with_name(f"{args.checkpoint.stem}-{t.step}{args.checkpoint.suffix}"))
    t.masters.show(1.0)
    final = t.log[-1]
    record = {k: v for k, v in vars(args).items() if isinstance(v, int | float | tuple) or k == "ramp"}
    export(t.model, t.masters, t.tok, args.out, {"arguments": record, "corpus": t.corpus, "log": t.log})
    return {name: final[name] for name in t.held}


if __name__ == "__main__":
    print(run(arguments().parse_args()))
