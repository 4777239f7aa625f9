"""Muon: momentum whose direction is orthogonalised, for matrices; everything else goes to AdamW (see train.py)."""

import torch

# Coefficients of the quintic Newton-Schulz iteration of Keller Jordan's Muon: fast growth of small singular values.
A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalise(x: torch.Tensor, steps: int) -> torch.Tensor:
    """Push all singular values of each matrix of x [M, N, K], N <= K, to about one.

    The iteration x <- (A + B g + C g g) x with g = x x^T runs on the N x N side alone: all factors are polynomials of
    the first g and so commute. In fp32 this gives what the plain iteration gives, for two thirds of its work.
    """
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    gram, total = x @ x.mT, None
    for i in range(steps):
        factor = torch.baddbmm(gram, gram, gram, beta=B, alpha=C)
        factor.diagonal(dim1=1, dim2=2).add_(A)
        total = factor if total is None else factor @ total
        if i + 1 < steps:
            gram = factor @ gram @ factor
    return total @ x


class Muon(torch.optim.Optimizer):
    """SGD with Nesterov momentum on orthogonalised updates; one parameter group, matrices of equal shape batched."""

    def __init__(
        self, params: list[torch.nn.Parameter], lr: float, momentum: float = 0.95, decay: float = 0.01, steps: int = 4
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay, "steps": steps})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One update of every matrix [N, K] that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[tuple[int, int], list[torch.nn.Parameter]] = {}
            for p in group["params"]:
                by_shape.setdefault((min(p.shape), max(p.shape)), []).append(p)
            for same in by_shape.values():
                self._step_same(same, group)

    def _step_same(self, params: list[torch.nn.Parameter], group: dict) -> None:
        """Update matrices which have one shape up to transposition."""
        updates = []
        for p in params:
            m = self.state[p].setdefault("momentum", torch.zeros_like(p))
            m.lerp_(p.grad, 1 - group["momentum"])
            u = torch.lerp(p.grad, m, group["momentum"])
            updates.append(u.mT if u.shape[0] > u.shape[1] else u)
        for p, u in zip(params, orthogonalise(torch.stack(updates), group["steps"]), strict=True):
            tall = p.shape[0] > p.shape[1]
            p.mul_(1 - group["lr"] * group["decay"])
            p.add_(u.mT if tall else u, alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)
