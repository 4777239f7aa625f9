#!/usr/bin/env python3
"""Times `trilith run` on a model: every mode, the scalar and the best instruction set, one thread and
all, in turn, round after round, so that a busy neighbour hits each alike; the median round counts. JSON lines on stdout, a
table on stderr. Usage: bench_model.py PROGRAM MODEL [ROUNDS]
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROMPT, TOKENS = "Once upon a time", 256


def run(program: str, model: str, sheet: str, mode: str, isa: str, threads: int) -> dict:
    done = subprocess.run(
        [program, "run", model, "--sheet", sheet, "-p", PROMPT, "-n", str(TOKENS), "--greedy",
         "--ignore-eos", "--mode", mode, "--threads", str(threads), "--json", "-"],
        env=os.environ | {"TRILITH_ISA": isa}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{isa} {mode}: {done.stderr}")
    return json.loads(done.stdout)


def spread(values: list[float]) -> float:
    """Half of the rounds lie within this share of the median."""
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return (ordered[-1 - quarter] - ordered[quarter]) / statistics.median(ordered)


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    program, model = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 9
    doctor = json.loads(subprocess.run([program, "doctor", "--json", "-"], capture_output=True,
                                       text=True, check=True).stdout)
    threads = sorted({1, os.cpu_count() or 1})
    cases = [(isa, mode, count) for isa in ("scalar", "") for mode in ("a8", "a16", "f32")
             for count in threads]
    rates: dict[tuple, list[float]] = {case: [] for case in cases}
    names: dict[str, str] = {}  # what was asked for -> what ran
    with tempfile.TemporaryDirectory() as folder:
        sheet = str(pathlib.Path(folder) / "sheet.json")
        subprocess.run([program, "inspect", model, "--json", sheet], check=True,
                       stdout=subprocess.DEVNULL)
        for _ in range(rounds):
            for case in cases:
                result = run(program, model, sheet, case[1], case[0], case[2])
                names[case[0]] = result["isa"]
                rates[case].append(result["tokens_per_second"]["decode"])
    for (isa, mode, count), found in rates.items():
        median = statistics.median(found)
        print(json.dumps({"case": "run", "model": model, "threads": count, "isa": names[isa],
                          "mode": mode, "tokens": TOKENS, "tokens_per_second": median,
                          "seconds": TOKENS / median, "median": TOKENS / median,
                          "spread": spread(found), "rounds": rounds, "cpu": doctor["cpu"]}))
        print(f"{names[isa]:8} {mode:4} {count} thread{'s' if count > 1 else ' '} {median:8.0f} tokens/s, "
              f"spread {100 * spread(found):.0f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
