"""Train the byte-level BPE tokenizer of the sample model on the training texts (`<|endoftext|>` is id 0)."""

import argparse
import json
import pathlib

from corpus import grammar_stories, teacher_stories
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def train_tokenizer(texts: list[str], vocab: int) -> Tokenizer:
    """A tokenizer with `vocab` ids that adds nothing when encoding."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(texts, trainer)
    return tok


def main() -> None:
    """Train on cleaned teacher stories and as many grammar stories as asked."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("stories", nargs="+", type=pathlib.Path)
    ap.add_argument("--heldout", type=pathlib.Path, required=True)
    ap.add_argument("--grammar", type=int, default=12000)
    ap.add_argument("--vocab", type=int, default=2048)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    args = ap.parse_args()
    held = [t for texts in json.loads(args.heldout.read_text()).values() for t in texts]
    texts = teacher_stories(args.stories, held, 7) + grammar_stories(args.grammar, held, 8)
    train_tokenizer(texts, args.vocab).save(str(args.out))
    print(f"{args.vocab} ids from {len(texts)} texts")


if __name__ == "__main__":
    main()
