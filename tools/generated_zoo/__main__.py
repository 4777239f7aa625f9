"""Draws checkpoints, runs inspect over them and prints how often each kind is recognised.

    PYTHONPATH=tools python3 -m generated_zoo --count 300 --program build/release/trilith
    PYTHONPATH=tools python3 -m generated_zoo --seed 17 --keep DIR     one case, its files kept

The case of a seed is always the same. Needs numpy and safetensors.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import sys

from .draw import draw_case
from .judge import OUTCOMES
from .run import run_case
from .table import markdown

def main() -> int:
    parser = argparse.ArgumentParser(prog="generated_zoo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default="build/release/trilith")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=1, help="seed of the first case")
    parser.add_argument("--seed", type=int, help="this one case, in words")
    parser.add_argument("--keep", type=pathlib.Path, help="keep its files here")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="every result, for further counting")
    parser.add_argument("--missed-in", type=pathlib.Path, help="only what was not right in this --json")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table here")
    parser.add_argument("--min", type=float, default=0, help="least share that is right")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        print(draw_case(arguments.seed))
        print(json.dumps(run_case(arguments.program, draw_case(arguments.seed), arguments.keep), indent=1))
        return 0
    seeds = range(arguments.first, arguments.first + arguments.count)
    if arguments.missed_in:
        before = json.loads(arguments.missed_in.read_text())
        seeds = [result["seed"] for result in before if result["outcome"] != "right"]
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(lambda seed: run_case(arguments.program, draw_case(seed)), seeds):
            results.append(result)
            if result["outcome"] != "right":
                print(result["seed"], result["outcome"], *result["axes"].values(),
                      result["detail"][:160], sep=" | ", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    if arguments.markdown:
        arguments.markdown.write_text(markdown(results))
    counts = collections.Counter(result["outcome"] for result in results)
    print(", ".join(f"{outcome} {counts[outcome]}" for outcome in OUTCOMES))
    enough = counts["right"] >= arguments.min * len(results)
    return 0 if enough and counts["WRONG"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
