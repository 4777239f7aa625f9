"""SmolLM2-135M-Instruct, a model nobody here trained: `trilith trace` against transformers.

TRILITH_SMOLLM2 names its directory (tools/fetch_smollm2.py makes one).
"""

from __future__ import annotations

import json

import numpy as np
import torch
from oracle import prompt_points, read_trace, row_errors

LIMIT = 1e-5
TEXTS = ["Gravity is the force that", "def fibonacci(n):\n    if n < 2:\n        return n\n",
         "Die Katze sitzt auf dem Dach; 猫は屋根の上にいる. 🐈"]


def test_logits_agree_with_transformers(smollm2, trilith, tmp_path, report_figure):
    from transformers import AutoTokenizer, LlamaForCausalLM

    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in TEXTS))
    output = tmp_path / "trace.safetensors"
    trilith("trace", smollm2, "--prompts", prompts, "-o", output, "--mode", "f32",
            "--points", "out,logits")
    tensors, description = read_trace(output)
    assert description["texts"] == TEXTS
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    model = LlamaForCausalLM.from_pretrained(smollm2, dtype=torch.float64,
                                             attn_implementation="eager")
    worst = 0.0
    for index, text in enumerate(TEXTS):
        ids = tokenizer(text)["input_ids"]
        found = prompt_points(tensors, index)
        np.testing.assert_array_equal(found["ids"], ids)
        with torch.no_grad():
            expected = model(torch.tensor([ids]), output_hidden_states=True)
        logits = expected.logits[0].numpy()
        worst = max(worst, row_errors(found["logits"], logits).max())
        assert worst <= LIMIT, text
        np.testing.assert_array_equal(found["top10"][:, 0], logits.argmax(axis=1))
        middle = expected.hidden_states[15][0].numpy()
        assert row_errors(found["layers.14.out"], middle).max() <= LIMIT
    report_figure(f"SmolLM2-135M: worst relative logit error {worst:.1e} over {len(TEXTS)} texts")
