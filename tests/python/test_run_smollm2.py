"""SmolLM2-135M-Instruct through `trilith run`: its greedy tokens against transformers in float64.

Every new token is judged after the tokens that `run` itself gave before it, so one near tie does
not spoil what follows. A token must be transformers' likeliest wherever that leads the next by more
than twice the engine's largest logit error over the same tokens, which `trace --backend engine`
shows. TRILITH_SMOLLM2 names the model's directory (tools/fetch_smollm2.py makes one).
"""

from __future__ import annotations

import json

import numpy as np
import torch
from oracle import prompt_points, read_trace, row_errors, write_ids

LIMIT = 1e-5  # relative, a row of logits: that of the reference (test_reference_smollm2.py)
COUNT = 48
TEXTS = ["Gravity is the force that", "def fibonacci(n):\n    if n < 2:\n        return n\n",
         "The capital of France is"]


def test_greedy_tokens_are_those_of_transformers(smollm2, trilith, tmp_path, report_figure):
    from transformers import LlamaForCausalLM

    runs = []
    for text in TEXTS:
        path = tmp_path / "run.json"
        trilith("run", smollm2, "-p", text, "-n", COUNT, "--greedy", "--ignore-eos", "--json", path)
        runs.append(json.loads(path.read_text()))
        assert len(runs[-1]["ids"]) == COUNT
    # The last token was not fed back.
    fed = [run["prompt_ids"] + run["ids"][:-1] for run in runs]
    output = tmp_path / "trace.safetensors"
    trilith("trace", smollm2, "--ids", write_ids(tmp_path / "ids.jsonl", fed), "-o", output,
            "--backend", "engine", "--points", "logits")
    tensors, description = read_trace(output)
    assert description["mode"] == runs[0]["mode"]
    model = LlamaForCausalLM.from_pretrained(smollm2, dtype=torch.float64,
                                             attn_implementation="eager")
    expected, worst, error = [], 0.0, 0.0
    for index, ids in enumerate(fed):
        with torch.no_grad():
            expected.append(model(torch.tensor([ids])).logits[0].numpy())
        found = prompt_points(tensors, index)["logits"]
        worst = max(worst, row_errors(found, expected[-1]).max())
        error = max(error, np.abs(found - expected[-1]).max())
    assert worst <= LIMIT
    decided, equal, narrowest = 0, 0, np.inf
    for run, logits in zip(runs, expected, strict=True):
        new = logits[len(run["prompt_ids"]) - 1:]
        logprobs = torch.log_softmax(torch.from_numpy(new), dim=1).numpy()
        for row, token, logprob, found in zip(new, run["ids"], logprobs, run["logprobs"],
                                              strict=True):
            second, first = np.sort(row)[-2:]
            equal += token == row.argmax()
            narrowest = min(narrowest, first - second)
            if first - second > 2 * error:
                decided += 1
                assert token == row.argmax(), (decided, first - second)
            assert abs(found - logprob[token]) <= 2 * error
    report_figure(f"SmolLM2-135M, run --greedy ({runs[0]['mode']}): {equal} of "
                  f"{len(TEXTS) * COUNT} tokens as transformers in float64, {decided} of them by "
                  f"more than twice the largest logit error {error:.1e} (relative {worst:.1e}); "
                  f"narrowest lead {narrowest:.1e}")
    assert decided >= 0.9 * len(TEXTS) * COUNT
