"""The confusion table as a page."""

import collections

from .judge import OUTCOMES

HEAD = """# Checkpoints under random packings

`trilith inspect` on {count} generated checkpoints (seeds {first} to {last}), without a dense reference
and without a tokenizer, so that the bytes alone decide:

    PYTHONPATH=tools python3 -m generated_zoo --count {count} --first {first} --markdown docs/GENERATED_ZOO.md

Each has 14 packed matrices in two layers, norms and an embedding. Kind of packing, word, bits, axis,
orientation, stride, order, code table, scale placement, group, direction, zero points, padding, names
and order of modules are drawn; the encoder (`tools/generated_zoo`) is numpy alone and shares no code
with the program. The weights have what trained ones have: channels of the residual stream that share
a factor with norm gains and embedding, neurons that share one, a few outliers.

- *right*: every matrix equal within 1e-6 of its largest magnitude, or its negative where the sheet lists
  the sign as open;
- *listed*: the sheet says ambiguous, and one of its alternatives, decoded with `--assume`, is the truth;
- *not listed*: ambiguous, and the truth is not among the alternatives;
- *refused*: no reading, with a reason;
- *WRONG*: another matrix, and the sheet says identified.
"""


def markdown(results: list[dict]) -> str:
    first, last = results[0]["seed"], results[-1]["seed"]
    lines = [HEAD.format(count=len(results), first=first, last=last)]
    total = collections.Counter(r["outcome"] for r in results)
    share = 100 * total["right"] / len(results)
    lines += [f"{share:.1f} % right, {total['WRONG']} confidently wrong.", "",
              "| | " + " | ".join(OUTCOMES) + " |", "| --- |" + " ---: |" * len(OUTCOMES)]
    lines.append("| all | " + " | ".join(str(total[o]) for o in OUTCOMES) + " |")
    for axis in results[0]["axes"]:
        counts = collections.defaultdict(collections.Counter)
        for result in results:
            counts[result["axes"][axis]][result["outcome"]] += 1
        for value in sorted(counts):
            cells = " | ".join(str(counts[value][o] or "") for o in OUTCOMES)
            lines.append(f"| {axis}: {value} | {cells} |")
    missed = [r for r in results if r["outcome"] != "right"]
    lines += ["", f"The {len(missed)} that are not right, by seed:", ""]
    for result in missed:
        detail = " ".join(result["detail"].split())[:120]
        lines.append(f"- {result['seed']}: {result['outcome']}; {detail}")
    return "\n".join(lines) + "\n"
