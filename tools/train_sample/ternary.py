"""Ternary weights: the rounding rule, the straight-through masters, and the packing into bytes."""

import torch


def ternarise(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes in {-1, 0, 1} [N, K] and the scale of each output channel [N, 1] for a weight [N, K].

    The scale is mean|w| of the row, rounded to fp16 so that training and the file agree exactly.
    """
    scale = weight.abs().mean(1, keepdim=True).clamp_min(1e-4).half().float()
    return (weight / scale).round().clamp(-1, 1), scale


def effective(master: torch.Tensor, share: float) -> torch.Tensor:
    """The weight the matmuls see: the master [N, K] moved `share` of the way to its ternary value."""
    if share <= 0:
        return master
    codes, scale = ternarise(master)
    return torch.lerp(master, codes * scale, min(share, 1.0)) if share < 1 else codes * scale


class Masters:
    """Full-precision masters behind the matrices of a model.

    The model itself holds what the matmuls see. The gradient found there is handed to the master unchanged: this is
    the straight-through estimator, without any autograd code.
    """

    def __init__(self, seen: list[torch.nn.Parameter]) -> None:
        self.seen = seen
        self.params = [torch.nn.Parameter(p.detach().clone()) for p in seen]

    @torch.no_grad()
    def show(self, share: float) -> None:
        """Write the effective weights into the model."""
        for p, master in zip(self.seen, self.params, strict=True):
            p.copy_(effective(master, share))

    def take_gradients(self) -> None:
        """Move the gradients of the model's matrices to the masters."""
        for p, master in zip(self.seen, self.params, strict=True):
            master.grad, p.grad = p.grad, None


def pack(codes: torch.Tensor) -> torch.Tensor:
    """Pack codes {-1, 0, 1} [N, K] into uint8 [N, K/4].

    Byte j of a row holds columns 4j..4j+3, the lowest two bits first: 0 -> 0, 1 -> +1, 2 -> -1.
    """
    if codes.shape[1] % 4:
        raise ValueError(f"a row of {codes.shape[1]} codes does not fill whole bytes")
    bits = torch.where(codes < 0, 2, codes.to(torch.int64)).view(codes.shape[0], -1, 4)
    return (bits << torch.tensor([0, 2, 4, 6])).sum(-1).to(torch.uint8)
