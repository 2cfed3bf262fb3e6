"""What the columns of a user's table mean: told by their names, or said by the user and checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.base.errors import InputError, unknown_name

_IMAGE = r"(?:image|img|picture|photo|file|path)(?:[_ ]?(?:path|file|name))?"
_CAPTION = r"(?:caption|text|sentence|statement|description)"
_NUMBER = r"[_ ]?(\d{1,2})"
# A second caption that is wrong for the image, under the names data sets give it.
_NEGATIVE = r"(?:(?:negative|false|wrong|foil|hard_negative|neg)[_ ]?(?:caption|text)s?|foils?|negatives?|distractors?)"
_POSITIVE = r"(?:(?:positive|true|correct|right|pos)[_ ]?(?:caption|text))"
_IDS = ("id", "group_id", "key", "index")
_ANSWERS = ("truth", "answer", "answers", "label", "labels", "correct")
_GROUPS = ("group", "group_id", "pair", "pair_id", "set")


@dataclass(frozen=True)
class ColumnMapping:
    """What the columns mean.

    A cell of `images` or `captions` may hold one of them or a list; the group's are all of them, in this order.
    With `group` a row is one image with its caption (or a caption alone), and rows with the same value are a group.
    """

    images: tuple[str, ...]
    captions: tuple[str, ...]
    truth: str = ""  # caption index of each image, from 0; none: image i belongs to caption i
    id: str = ""
    group: str = ""
    tags: tuple[str, ...] | None = None  # None: every column that has no other meaning

    def checked(self, columns: Sequence[str]) -> ColumnMapping:
        """These columns, tags spelled out; InputError for a column that is missing or has two meanings."""
        used = [*self.images, *self.captions, *filter(None, (self.truth, self.id, self.group))]
        for name in (*used, *(self.tags or ())):
            if name not in columns:
                raise unknown_name("column", name, columns)
        twice = next((name for i, name in enumerate(used) if name in used[:i]), None)
        if twice is not None:
            raise InputError(f"The column {twice!r} has two meanings; choose another column for one of them.")
        if not self.images or not self.captions:
            missing = "image" if not self.images else "caption"
            raise InputError(
                f"No column holds {missing}s among: {', '.join(columns) or 'none'}; name one `{missing}_0`, or "
                "choose it."
            )
        if self.group and (len(self.images), len(self.captions)) != (1, 1):
            raise InputError(
                "With a column of groups a row is one image with one caption; choose one column of each."
            )
        unused = self.group and (self.truth or self.id)
        if unused:
            raise InputError(
                f"With a column of groups an image belongs to the caption of its row, and the group names itself: the "
                f"column {unused!r} has no effect as answer or id; leave it out."
            )
        tags = tuple(c for c in columns if c not in used) if self.tags is None else self.tags
        return ColumnMapping(self.images, self.captions, self.truth, self.id, self.group, tags)


def guess_columns(columns: Sequence[str]) -> ColumnMapping:
    """What the columns mean, by their names; `images` or `captions` are empty where no name tells.

    >>> guess_columns(["id", "image_0", "image_1", "caption_0", "caption_1", "topic"]).captions
    ('caption_0', 'caption_1')
    """
    low = {c.strip().lower(): c for c in columns}
    images = _numbered(low, _IMAGE) or _plain(low, _IMAGE)
    captions = _numbered(low, _CAPTION) or _plain(low, _POSITIVE) or _plain(low, _CAPTION)
    if len(captions) == 1:
        captions += tuple(c for c in _matching(low, f"{_NEGATIVE}(?:{_NUMBER})?") if c not in captions)
    group = ""
    if len(images) == 1 and len(captions) == 1:
        group = next((low[name] for name in _GROUPS if name in low), "")
    name = next((low[name] for name in _IDS if name in low and low[name] != group), "")
    truth = "" if group else next((low[name] for name in _ANSWERS if name in low), "")
    return ColumnMapping(images, captions, truth, name if not group else "", group)


def _matching(low: dict[str, str], pattern: str) -> tuple[str, ...]:
    return tuple(original for name, original in low.items() if re.fullmatch(pattern, name))


def _numbered(low: dict[str, str], pattern: str) -> tuple[str, ...]:
    """`image_0`, `image_1`, ... in the order of their numbers."""
    hits = [(int(hit[1]), name) for name in low if (hit := re.fullmatch(pattern + _NUMBER, name))]
    return tuple(low[name] for _, name in sorted(hits))


def _plain(low: dict[str, str], pattern: str) -> tuple[str, ...]:
    """The one column `image` or `images`."""
    return _matching(low, f"{pattern}s?")[:1]
