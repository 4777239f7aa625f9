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
import subprocess
import sys
import tempfile

import safetensors.numpy

from .draw import Case, axes_of, draw_case
from .judge import OUTCOMES, judge, load
from .model import tensors_of
from .table import markdown

MOST_ALTERNATIVES = 8


def write_case(case: Case, folder: pathlib.Path):
    stored, wanted = tensors_of(case.packing, case.sizes, case.seed, case.naming, case.order)
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(stored, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(case.sizes.config()))
    return wanted


def inspect(program: str, folder: pathlib.Path, out: pathlib.Path, assumptions=()):
    sheet, dense = out / "sheet.json", out / "dense.safetensors"
    for path in (sheet, dense):
        path.unlink(missing_ok=True)
    words = [program, "inspect", folder, "--json", sheet, "--unpack", dense]
    for assumption in assumptions:
        words += ["--assume", assumption]
    try:
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return None, {}, "stopped after 120 s"
    if not sheet.exists():
        return None, {}, done.stderr
    return json.loads(sheet.read_text()), load(dense), done.stderr


def flattened(spec: dict, prefix: str = "") -> dict:
    fields = {}
    for key, value in spec.items():
        if isinstance(value, dict):
            fields.update(flattened(value, f"{prefix}{key}."))
        else:
            fields[prefix + key] = value
    return fields


def decoded_alternatives(program: str, folder: pathlib.Path, out: pathlib.Path, report: dict):
    """The matrices under each alternative that the sheet lists, as a user gets them: --assume."""
    seen = []
    for module in report["modules"]:
        own = flattened(module["spec"])
        for alternative in module["alternatives"]:
            fields = flattened(alternative["spec"])
            differs = {k: v for k, v in fields.items() if own.get(k) != v}
            if differs in seen or len(seen) == MOST_ALTERNATIVES:
                continue
            seen.append(differs)
            assumptions = [f"{k}={v if isinstance(v, str) else json.dumps(v, separators=(',', ':'))}"
                           for k, v in differs.items()]
            yield alternative["differs"], inspect(program, folder, out, assumptions)[1]


def run_case(program: str, seed: int, keep: pathlib.Path | None = None) -> dict:
    case = draw_case(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (keep or pathlib.Path(scratch)) / "model"
        wanted = write_case(case, folder)
        report, dense, log = inspect(program, folder, pathlib.Path(scratch))
        outcome, detail = judge(report, dense, wanted, lambda: decoded_alternatives(
            program, folder, pathlib.Path(scratch), report))
    return {"seed": seed, "outcome": outcome, "detail": detail or log, "axes": axes_of(case)}


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
        print(json.dumps(run_case(arguments.program, arguments.seed, arguments.keep), indent=1))
        return 0
    seeds = range(arguments.first, arguments.first + arguments.count)
    if arguments.missed_in:
        before = json.loads(arguments.missed_in.read_text())
        seeds = [result["seed"] for result in before if result["outcome"] != "right"]
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(lambda seed: run_case(arguments.program, seed), seeds):
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
