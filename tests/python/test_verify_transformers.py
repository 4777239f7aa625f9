"""`trilith verify` with transformers on the other side: its float32 run is a valid baseline, found clean
for its precision, and a fault in it is placed."""

from __future__ import annotations

import copy
import json
import pathlib
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.numpy import save_file  # noqa: E402
from transformers_trace import trace_transformers  # noqa: E402

IDS = [323, 324, 259, 316, 12, 312, 267, 259, 653, 418, 308, 639, 14, 340, 300, 281, 12, 500, 700]


def write_trace(path: pathlib.Path, points: dict[str, np.ndarray], ids: list[int]) -> None:
    tensors = {f"p0.{name}": np.ascontiguousarray(value, dtype=np.float32)
               for name, value in points.items()}
    tensors["p0.ids"] = np.array(ids, dtype=np.int64)
    save_file(tensors, path)


def verify(program, model, baseline, *arguments) -> tuple[int, dict]:
    done = subprocess.run([str(program), "verify", str(model), "--baseline", str(baseline), "--json",
                           "-", *map(str, arguments)], capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


def worst_ratios(ledger: dict) -> str:
    def worst(values):
        return max(values, default=0.0)

    points = ledger["points"]
    return (f"weights {worst(p['weights']['ratio'] for p in points if 'weights' in p):.3g}, "
            f"steps {worst(p['local']['ratio'] for p in points if 'local' in p):.3g}, "
            f"free-running {worst(p['floor_ratio'] for p in points if 'floor_ratio' in p):.3g}")


@pytest.fixture(scope="module")
def single(twin):
    """The sample's decoded twin in float32."""
    return copy.deepcopy(twin).float()


@pytest.mark.parametrize("mode", ["a16", "f32"])
def test_a_float32_run_is_a_clean_baseline(program, sample, single, tmp_path, mode, report_figure):
    points, _ = trace_transformers(single, IDS)
    write_trace(tmp_path / "t.safetensors", points, IDS)
    status, ledger = verify(program, sample, tmp_path / "t.safetensors", "--mode", mode)
    report_figure(f"verify --mode {mode} against transformers in float32: {worst_ratios(ledger)}")
    assert status == 0, ledger["faults"]
    assert ledger["verdict"] == "clean"


def test_a_fault_in_transformers_is_placed(program, sample, single, tmp_path):
    damaged = copy.deepcopy(single)
    damaged.model.layers[3].post_attention_layernorm.variance_epsilon = 3e-2
    points, _ = trace_transformers(damaged, IDS)
    write_trace(tmp_path / "t.safetensors", points, IDS)
    status, ledger = verify(program, sample, tmp_path / "t.safetensors")
    assert status == 3
    assert ledger["first"] == {"point": "layers.3.post_norm", "layer": 3}


@pytest.mark.slow
def test_smollm2_is_clean(program, smollm2, tmp_path, report_figure):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    ids = AutoTokenizer.from_pretrained(smollm2)("Gravity is the force that")["input_ids"]
    points, _ = trace_transformers(model, ids)
    write_trace(tmp_path / "t.safetensors", points, ids)
    status, ledger = verify(program, smollm2, tmp_path / "t.safetensors")
    report_figure(f"verify of SmolLM2-135M against transformers in float32: {worst_ratios(ledger)}")
    assert status == 0, ledger["faults"]
