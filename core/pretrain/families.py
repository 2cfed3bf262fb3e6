"""The architectures of the built-in models, by the name that recipes give them."""

from __future__ import annotations

from core.pretrain import _blip, _contrastive, _language

FAMILIES = {**_contrastive.FAMILIES, **_blip.FAMILIES, **_language.FAMILIES}
