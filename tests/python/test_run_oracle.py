"""The engine behind `trilith run` against transformers on the sample's decoded weights."""

from __future__ import annotations

import json
import subprocess

import pytest

torch = pytest.importorskip("torch")


# Worst error of a log-probability over 120 tokens, ten times what was measured (other weights differ
# by less than that). f32: float rounding over six layers, 9.4e-7. a16: 16-bit activation codes on
# top of it, 1.7e-4. One wrong code table, scale or rotation gives more than 1.
@pytest.mark.parametrize("mode, bound", [("f32", 1e-5), ("a16", 2e-3)])
def test_logprobs_agree_with_transformers(program, sample, twin, mode, bound, report_figure):
    done = subprocess.run([str(program), "run", str(sample), "-p", "Once upon a time", "-n", "120",
                           "--seed", "1", "--ignore-eos", "--mode", mode, "--json", "-"],
                          check=True, capture_output=True, timeout=300)
    report = json.loads(done.stdout)
    ids = torch.tensor(report["prompt_ids"] + report["ids"])
    with torch.no_grad():
        logits = twin(ids[None]).logits[0].double()
    expected = torch.log_softmax(logits, -1)[:-1].gather(1, ids[1:, None])[:, 0]
    expected = expected[len(report["prompt_ids"]) - 1:]
    worst = (expected - torch.tensor(report["logprobs"], dtype=torch.float64)).abs().max().item()
    report_figure(f"run --mode {mode}: worst log-probability error {worst:.2e} over "
                  f"{len(report['ids'])} tokens")
    assert worst < bound
