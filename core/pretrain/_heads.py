"""Auxiliary losses for the two towers; their heads are thrown away after training.

Real contrastive models see hundreds of millions of pairs. With some ten thousand pictures a pooled feature learns
colours and then nothing for thousands of steps, so each tower is also told, from the scene graph, what is where. A
text tower that looks at the picture does not find the object that a word means by itself either, so it is asked.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from core.pretrain._layers import TextStates
from core.pretrain._tokens import vocabulary
from core.scenes.training_data import LABELS
from core.scenes.world import COLOURS, SHAPES

_COLOUR_IDS = [vocabulary()[colour] for colour in COLOURS]
_SPREAD = 1.5  # scene units: about the standard deviation of a place


class SceneHeads(nn.Module):
    """Linear heads on the pooled features of picture and caption, on the patch tokens and on words."""

    def __init__(self, pooled: int, patches: int, words: int, details: bool = False) -> None:
        """details : also tell size and material (a head of its own, so that the other recipes' weights stay)."""
        super().__init__()
        self.table = nn.Linear(pooled, len(COLOURS) * (3 + len(SHAPES)))
        self.caption_objects = nn.Linear(pooled, len(COLOURS) * (3 + len(SHAPES)))
        self.cells = nn.Linear(patches, len(LABELS))
        self.words = nn.Linear(words, 2 + len(SHAPES))
        self.agrees = nn.Linear(words, 2)
        if details:
            self.details, self.caption_details = (nn.Linear(pooled, 2 * len(COLOURS)) for _ in range(2))

    def table_loss(self, pooled: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        """Which colours are there, and shape and place of the object of each colour that occurs once.

        pooled : (b, d). objects : (b, colours, 6) as `core.scenes.training_data.object_table` makes them.
        """
        once = objects[..., 1:-2].sum(dim=-1, keepdim=True)  # 1 where shape and place are known
        scale = objects.new_tensor([1.0] * (objects.shape[-1] - 2) + [_SPREAD, _SPREAD])
        return _table_loss(self.table, pooled, objects / scale, once.expand(*once.shape[:-1], 2))

    def caption_object_loss(self, pooled: torch.Tensor, caption_objects: torch.Tensor) -> torch.Tensor:
        """The same of what the caption tells: (b, d) and (b, colours, 6) as `statement_table` makes them."""
        return _table_loss(
            self.caption_objects, pooled, caption_objects, (caption_objects[..., -2:] != 0).float()
        )

    def details_loss(
        self,
        pooled: torch.Tensor,
        details: torch.Tensor,
        caption: torch.Tensor,
        caption_details: torch.Tensor,
    ) -> torch.Tensor:
        """Size and material of the object of each colour, of the picture and as the caption tells them.

        pooled, caption : (b, d). details, caption_details : float (b, colours, 2), 1, -1 or 0 for unknown.
        """
        return _sign_loss(self.details, pooled, details) + _sign_loss(
            self.caption_details, caption, caption_details
        )

    def cell_loss(self, patches: torch.Tensor, maps: torch.Tensor) -> torch.Tensor:
        """Which attributes have an object centred in each patch: (b, patches, d) and (b, patches, labels)."""
        return len(LABELS) * F.binary_cross_entropy_with_logits(self.cells(patches), maps)

    def words_loss(self, words: TextStates, objects: torch.Tensor) -> torch.Tensor:
        """Shape and place of the object of a colour, asked of that colour's word once it has seen the picture.

        objects : (b, colours, 6) of the batch's pictures.
        """
        objects = objects[words.images]
        row, place, colour = _named(words.ids, objects[..., 1:-2].sum(dim=-1) > 0)
        found, wanted = self.words(words.states[row, place]), objects[row, colour]
        shape = -(F.log_softmax(found[:, :-2], dim=-1) * wanted[:, 1:-2]).sum(dim=-1)
        error = (found[:, -2:] - wanted[:, -2:] / _SPREAD).square().sum(dim=-1)
        return (shape + error).sum() / max(1, len(row))

    def agrees_loss(
        self, words: TextStates, objects: torch.Tensor, caption_objects: torch.Tensor
    ) -> torch.Tensor:
        """Whether shape and relation told of a colour hold in the picture, asked of that colour's word.

        objects, caption_objects : (b, colours, 6) of the batch's images and captions. A matching head has to find what
        is wrong anywhere in a caption; it does not learn to from one bit a pair.
        """
        wanted, known = agreement(objects[words.images], caption_objects[words.captions])
        row, place, colour = _named(words.ids, known.any(dim=-1))
        found = self.agrees(words.states[row, place])
        known = known[row, colour].float()
        loss = F.binary_cross_entropy_with_logits(found, wanted[row, colour].float(), reduction="none")
        return ((loss * known).sum(dim=0) / known.sum(dim=0).clamp(min=1)).sum()


def agreement(objects: torch.Tensor, caption_objects: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Whether what a caption tells of each colour holds: of its shape, of its side; and where that can be said.

    objects, caption_objects : (p, colours, 6) as `object_table` and `statement_table` make them. Returns bool
    (p, colours, 2) twice. It can be said of colours that the image holds once, of a side where that is so for both.
    """
    once = objects[..., 1:-2].sum(dim=-1) > 0
    shape = (objects[..., 1:-2] * caption_objects[..., 1:-2]).sum(dim=-1) > 0
    placed = (caption_objects[..., -2:] != 0).any(dim=-1)
    clear = (once | ~placed).all(dim=-1, keepdim=True)
    # Told sides are -1 and 1 along one axis: the sum is the second place minus the first, signed as the caption tells.
    side = ((objects[..., -2:] * caption_objects[..., -2:]).sum(dim=(-2, -1)) > 0)[:, None].expand_as(shape)
    known = torch.stack([once & (caption_objects[..., 1:-2].sum(dim=-1) > 0), placed & clear], dim=-1)
    return torch.stack([shape, side], dim=-1), known


def _named(ids: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Pair, place in the caption and colour of every colour word whose colour is wanted: ids (p, l), (p, colours)."""
    said = ids[..., None] == torch.tensor(_COLOUR_IDS, device=ids.device)
    return (said & wanted[:, None]).nonzero(as_tuple=True)


def _table_loss(
    head: nn.Module, pooled: torch.Tensor, table: torch.Tensor, placed: torch.Tensor
) -> torch.Tensor:
    """Presence, shape where it is given, and place where `placed` (b, colours, 2) is 1."""
    said = head(F.layer_norm(pooled, pooled.shape[-1:])).view(table.shape)
    shapes = table[..., 1:-2]
    present = F.binary_cross_entropy_with_logits(said[..., 0], table[..., 0])
    shape = -(F.log_softmax(said[..., 1:-2], dim=-1) * shapes).sum() / shapes.sum().clamp(min=1)
    error = (said[..., -2:] - table[..., -2:]).square()
    return 4 * present + shape + (error * placed).sum() / placed.sum().clamp(min=1)


def _sign_loss(head: nn.Module, pooled: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    """Logistic loss of signs (b, colours, 2) where they are not 0."""
    said = head(F.layer_norm(pooled, pooled.shape[-1:])).view(signs.shape)
    return (F.softplus(-signs * said) * signs.abs()).sum() / signs.abs().sum().clamp(min=1)
