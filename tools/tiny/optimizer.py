"""Muon (Jordan et al., 2024) for the matrices inside the layers, Adam for embeddings and norms."""

import torch
from torch import Tensor, nn


def orthogonal(matrices: Tensor, steps: int = 5) -> Tensor:
    """Newton-Schulz iteration toward the nearest orthogonal matrix, for a stack of matrices [n, rows, columns]."""
    x = matrices.bfloat16()
    flipped = x.shape[1] > x.shape[2]
    if flipped:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.transpose(1, 2) if flipped else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters, lr: float, momentum: float = 0.95, weight_decay: float = 0.05):
        super().__init__(list(parameters), {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            shapes: dict[tuple, list] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes.setdefault(tuple(parameter.shape), []).append(parameter)
            for (rows, columns), parameters in shapes.items():
                updates = []
                for parameter in parameters:
                    state = self.state[parameter]
                    if not state:
                        state["momentum"] = torch.zeros_like(parameter)
                    state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                    updates.append(parameter.grad.lerp(state["momentum"], group["momentum"]))
                scale = group["lr"] * max(1.0, rows / columns) ** 0.5
                for parameter, update in zip(parameters, orthogonal(torch.stack(updates))):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-scale)


def optimizers(model: nn.Module, rate: float = 1.0) -> list[torch.optim.Optimizer]:
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.dim() < 2 or "embed" in n]
    made = [Muon(matrices, lr=0.02 * rate), torch.optim.AdamW(others, lr=2e-3 * rate, betas=(0.9, 0.98), weight_decay=0.0)]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return made
