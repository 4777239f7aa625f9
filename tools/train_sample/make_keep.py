"""Choose the tokens the teacher may emit: those it uses in a pilot of free generation, and those of the openings.

A head over about 1,200 tokens instead of 49,152 saves a fifth of the generation time and keeps the vocabulary small.
"""

import argparse
import collections
import json
import pathlib
import random

from corpus import read_lines
from openings import opening
from tokenizers import Tokenizer

UNWANTED = {"kill", "dead", "blood", "die", "died", "gun", "murder", "drunk"}
OPENINGS = 3000  # sampled, so that all their tokens are kept


def main() -> None:
    """Count, filter and write the list."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("teacher", type=pathlib.Path)
    ap.add_argument("pilot", nargs="+", type=pathlib.Path, help="teacher stories, JSON lines, may be gzipped")
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--least", type=int, default=2, help="how often a token has to occur")
    args = ap.parse_args()
    tok = Tokenizer.from_file(str(args.teacher / "tokenizer.json"))
    count: collections.Counter[int] = collections.Counter()
    for path in args.pilot:
        for line in read_lines(path):
            count.update(tok.encode(line["text"], add_special_tokens=False).ids)
    keep = {token for token, n in count.items() if n >= args.least}
    r = random.Random(0)
    for _ in range(OPENINGS):
        keep.update(tok.encode(opening(r)[0], add_special_tokens=False).ids)

    def wanted(token: int) -> bool:
        text = tok.decode([token])
        return text.isascii() and not any(c.isdigit() for c in text) and text.strip().lower() not in UNWANTED

    keep = {token for token in keep if wanted(token)}
    keep |= {tok.token_to_id("<|im_end|>")}
    keep -= {tok.token_to_id("<|im_start|>")}
    args.out.write_text(json.dumps(sorted(keep)) + "\n", encoding="utf-8")
    print(f"{len(keep)} tokens")


if __name__ == "__main__":
    main()
