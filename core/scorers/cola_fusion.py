"""How patches and words meet: the five fusions as [Cola] 10.1 describes them, of the parameter counts of its Table 5.

The authors' code may differ: equal counts do not prove equal layers.

Each takes patches (p, a, d), words (p, b, d) and the words' mask (p, b), and gives CLS tokens (p, c, d): one, or for
the FIBER styles two, that of the words first. Layers are pre-norm, of which the paper says nothing.
"""

from __future__ import annotations

import torch
from torch import nn

from core.base.errors import InputError


def encoder(size: int, layers: int, heads: int) -> nn.TransformerEncoder:
    """Self-attention layers with a last norm; the inner width is four times the outer one, as in the paper's counts."""
    layer = nn.TransformerEncoderLayer(size, heads, 4 * size, 0.0, "relu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, nn.LayerNorm(size), enable_nested_tensor=False)


class CrossAttentionLayer(nn.Module):
    """A transformer decoder layer: `queries` attend to themselves, then to `memory`."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(
            size, heads, 4 * size, 0.0, "relu", batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(size)

    def forward(
        self,
        queries: torch.Tensor,
        memory: torch.Tensor,
        pad: torch.Tensor | None,
        memory_pad: torch.Tensor | None,
    ) -> torch.Tensor:
        out = self.layer(queries, memory, tgt_key_padding_mask=pad, memory_key_padding_mask=memory_pad)
        return self.norm(out)


class Fusion(nn.Module):
    """What the fusions share: a CLS token, and masks (True where a place is padding)."""

    outputs = 1

    def __init__(self, size: int) -> None:
        super().__init__()
        self.cls = nn.Parameter(0.02 * torch.randn(self.outputs, size))

    def _cls(self, like: torch.Tensor, which: int = 0) -> torch.Tensor:
        return self.cls[which].expand(len(like), 1, -1)

    @staticmethod
    def _pad(mask: torch.Tensor, before: int) -> torch.Tensor:
        """Padding of words, after `before` places that are none."""
        return nn.functional.pad(~mask, (before, 0), value=False)


class Mdetr(Fusion):
    """Self-attention over [patches; words], then CLS cross-attends to all of them: MM-Adapter by the paper's text."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size)
        self.self_attention = encoder(size, layers, heads)
        self.cross = nn.MultiheadAttention(size, heads, batch_first=True)
        self.norm = nn.LayerNorm(size)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        pad = self._pad(mask, patches.shape[1])
        seen = self.self_attention(torch.cat([patches, words], dim=1), src_key_padding_mask=pad)
        cls = self._cls(seen)
        found, _ = self.cross(cls, seen, seen, key_padding_mask=pad, need_weights=False)
        return self.norm(cls + found)


class Flava(Fusion):
    """CLS inside the self-attention; one layer more than the others, which gives the paper's 9.9 million."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size)
        self.self_attention = encoder(size, layers + 1, heads)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        whole = torch.cat([self._cls(patches), patches, words], dim=1)
        pad = self._pad(mask, 1 + patches.shape[1])
        return self.self_attention(whole, src_key_padding_mask=pad)[:, :1]


class Albef(Fusion):
    """Each modality attends to itself; then words and CLS attend to patches."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size)
        self.of_patches, self.of_words = (encoder(size, max(1, layers - 1), heads) for _ in range(2))
        self.cross = CrossAttentionLayer(size, heads)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        patches = self.of_patches(patches)
        words = self.of_words(words, src_key_padding_mask=~mask)
        asked = torch.cat([self._cls(words), words], dim=1)
        return self.cross(asked, patches, self._pad(mask, 1), None)[:, :1]


class Fiber(Fusion):
    """As ALBEF, and patches with a CLS token of their own attend to words; the two CLS tokens are compared."""

    outputs = 2

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size)
        self.of_patches, self.of_words = (encoder(size, max(1, layers - 1), heads) for _ in range(2))
        self.to_patches, self.to_words = (CrossAttentionLayer(size, heads) for _ in range(2))

    def _alone(
        self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.of_patches(patches), self.of_words(words, src_key_padding_mask=~mask)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        patches, words = self._alone(patches, words, mask)
        read = self.to_patches(torch.cat([self._cls(words), words], dim=1), patches, self._pad(mask, 1), None)
        look = self.to_words(torch.cat([self._cls(patches, 1), patches], dim=1), words, None, ~mask)
        return torch.cat([read[:, :1], look[:, :1]], dim=1)


class FiberMM(Fiber):
    """As FIBER, but the self-attention before runs over patches and words together."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        Fusion.__init__(self, size)
        self.together = encoder(size, max(1, layers - 1), heads)
        self.to_patches, self.to_words = (CrossAttentionLayer(size, heads) for _ in range(2))

    def _alone(
        self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        count = patches.shape[1]
        both = self.together(torch.cat([patches, words], dim=1), src_key_padding_mask=self._pad(mask, count))
        return both[:, :count], both[:, count:]


_FUSIONS: dict[str, type[Fusion]] = {
    "mdetr": Mdetr,
    "flava": Flava,
    "albef": Albef,
    "fiber": Fiber,
    "fiber-mm": FiberMM,
}


def make_fusion(name: str, size: int, layers: int, heads: int) -> Fusion:
    """A fusion by name (`core.scorers.cola_config.FUSIONS`); InputError where the width does not divide
    among the heads."""
    if size % heads:
        raise InputError(f"A width of {size} cannot be shared by {heads} heads; choose a divisor of it.")
    return _FUSIONS[name](size, layers, heads)  # type: ignore[call-arg, arg-type]
