"""How alike images and captions are, and the loss that makes partners alike."""

from __future__ import annotations

import torch
from torch.nn import functional as F


def cosines(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """Cosines of all pairs of rows (a, d) and (b, d), float32 (a, b)."""
    return F.normalize(images.float(), dim=-1) @ F.normalize(captions.float(), dim=-1).T


def symmetric_cross_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Mean of the cross-entropies over rows and columns (b, b), whose diagonal is right: CLIP's loss, a scalar."""
    diagonal = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, diagonal) + F.cross_entropy(logits.T, diagonal)) / 2
