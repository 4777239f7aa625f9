"""Shared by the oracle tests: calling the program, and a place for figures to report."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable

import pytest

# transformers wraps BitNet's quantisers in torch.compile; eager gives the same function without a
# compiler run of minutes. Must be set before torch is imported.
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

_figures: list[str] = []


@pytest.fixture(scope="session")
def trilith(program: pathlib.Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the program; `code` is the exit status it must end with."""

    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == code, f"{command} ended with {done.returncode}: {done.stderr}"
        return done

    return run


@pytest.fixture(scope="session")
def report_figure() -> Callable[[str], None]:
    """A line shown at the end of the run."""
    return _figures.append


@pytest.fixture(scope="session")
def smollm2() -> pathlib.Path:
    """SmolLM2-135M-Instruct as an ordinary checkpoint directory, a model nobody here trained."""
    path = os.environ.get("TRILITH_SMOLLM2")
    if not path:
        pytest.skip("TRILITH_SMOLLM2 is not set; python tools/fetch_smollm2.py DIR makes the model")
    return pathlib.Path(path)


@pytest.fixture(scope="session")
def twin(program, sample, tmp_path_factory):
    """transformers' Llama in double with the weights that `inspect --unpack` writes."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForCausalLM

    path = tmp_path_factory.mktemp("twin") / "dense.safetensors"
    subprocess.run([str(program), "inspect", str(sample), "--unpack", str(path)], check=True,
                   capture_output=True, timeout=300)
    state = {f"{name.removesuffix('.weight')}.weight": value
             for name, value in load_file(path).items()}
    stored = load_file(sample / "model.safetensors")
    config = AutoConfig.from_pretrained(sample)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float64,
                                             attn_implementation="eager").eval()
    for name in model.state_dict():
        if name not in state:
            state[name] = stored[name]
    model.load_state_dict({name: value.double() for name, value in state.items()})
    return model


def pytest_terminal_summary(terminalreporter) -> None:
    if _figures:
        terminalreporter.section("figures")
        for line in _figures:
            terminalreporter.write_line(line)
