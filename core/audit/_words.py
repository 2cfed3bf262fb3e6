"""The words of a caption, the same for every check: two captions of the same words differ in looks alone."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# All that stand for one; the two accents before NFKC makes a space and a mark of them.
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\uff07`\u00b4", "'"))


class _Letters(dict[int, str]):
    """For `str.translate`: letters, marks and digits stay, a symbol (`+`, `<`, an emoji) is a word of its own, what
    is not seen (a soft hyphen) goes, and the rest parts words."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        kind = unicodedata.category(sign)
        if kind[0] in "LMN" or sign == "'":
            found = sign
        elif kind in ("Sm", "Sc", "So"):
            found = f" {sign} "
        else:
            found = "" if kind == "Cf" else " "
        return self.setdefault(code, found)


_LETTERS = _Letters()


@lru_cache(1 << 16)
def words_of(caption: str) -> tuple[str, ...]:
    """Its words without case, and with the apostrophes inside them: `A dog’s “tail”` has `a`, `dog's`, `tail`.

    Composed and decomposed letters are one (NFKC, casefold), as are all apostrophes; hyphens part words.
    """
    text = unicodedata.normalize("NFKC", caption.translate(_APOSTROPHES)).casefold()
    text = unicodedata.normalize("NFKC", text).translate(_LETTERS)
    return tuple(re.sub(r"(?<!\w)'+|'+(?!\w)", " ", text).split())
