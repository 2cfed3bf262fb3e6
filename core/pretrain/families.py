"""The architectures of the built-in models, by the name that recipes give them."""

from __future__ import annotations

from core.pretrain import blip, contrastive, language

FAMILIES = {**contrastive.FAMILIES, **blip.FAMILIES, **language.FAMILIES}
