"""Begin from a packed checkpoint: masters are drawn that round to its codes and scales.

The file does not say where within its rounding interval a master stood. Magnitudes are drawn from the half-normal
distribution that has mean 1 (in units of the scale), conditioned on the code: |w| < 1/2 for zeros, above for others.
"""

import math
import pathlib

import torch
from model import Model
from reference import unpack
from safetensors.torch import load_file
from ternary import Masters, ternarise

SIGMA = math.sqrt(math.pi / 2)  # a half-normal distribution of this width has mean 1
NORMAL = torch.distributions.Normal(0.0, SIGMA)


def draw_masters(codes: torch.Tensor, scale: torch.Tensor, gen: torch.Generator) -> torch.Tensor:
    """Masters [N, K] that ternarise to codes [N, K] and, up to rounding, to the scales [N]."""
    edge = 2 * NORMAL.cdf(torch.tensor(0.5)) - 1  # the half-normal's share of magnitudes below 1/2
    u = torch.rand(codes.shape, generator=gen).clamp(1e-4, 1 - 1e-4)
    u = torch.where(codes == 0, u * edge, edge + u * (1 - edge))
    size = NORMAL.icdf((1 + u) / 2)
    sign = torch.where(codes == 0, torch.randn(codes.shape, generator=gen).sign(), codes)
    # Stretch what lies beyond 1/2 until the mean of each row is 1.
    beyond = (size - 0.5) * (codes != 0)
    excess = 1 - (size - beyond).mean(1, keepdim=True)
    size = size - beyond + beyond * excess / beyond.mean(1, keepdim=True).clamp_min(1e-6)
    return sign * size * scale.float()[:, None]


@torch.no_grad()
def begin_from(model: Model, masters: Masters, folder: pathlib.Path, seed: int) -> float:
    """Fill model and masters from the folder's file; returns the share of codes that came back."""
    stored = load_file(folder / "model.safetensors")
    gen = torch.Generator().manual_seed(seed)
    master_of = {id(p): m for p, m in zip(masters.seen, masters.params, strict=True)}
    same = total = 0
    for name, p in model.named_parameters():
        full = name if name.startswith("lm_head") else f"model.{name}"
        full = full if full.endswith(".weight") else f"{full}.weight"
        if id(p) not in master_of:
            p.copy_(stored[full].float())
            continue
        codes = unpack(stored[f"{full}_ternary"])
        master = draw_masters(codes, stored[f"{full}_scale"], gen)
        master_of[id(p)].copy_(master)
        same += int((ternarise(master)[0] == codes).sum())
        total += codes.numel()
    return same / total
