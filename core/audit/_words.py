"""The words of a caption, the same for every check, and what of it nobody sees: captions that look the same are one."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# All that stand for one; the two accents before NFKC makes a space and a mark of them.
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\uff07`\u00b4", "'"))


# Marks, letters and a symbol that have no looks of their own (Unicode's Default_Ignorable_Code_Point, beside Cf):
# among them the selectors that make an emoji black or coloured.
_INVISIBLE = frozenset(
    map(
        chr,
        [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0]
        + [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)],
    )
)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
# Letters of other alphabets that look as the Latin ones below them in most fonts (Unicode Technical Standard 39).
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u050c\u051a\u051c"
    "\u03b1\u03b9\u03bf\u03c1\u03bd\u03f2\u03f3"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0131\u0251\u0261\u0578\u057d\u0585\u0570",
    "aeopcyxijsdhqwlABEKMHOPCTYXIJSGQWaiopvcjABEZHIKMNOPTYXiagnuoh",
)


class _Letters(dict[int, str]):
    """For `str.translate`: letters, marks and digits stay, a symbol (`+`, `<`, an emoji, its skin tone) is a word of
    its own, what is not seen (a soft hyphen, a selector) goes, and the rest parts words."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        kind = unicodedata.category(sign)
        if is_unseen(sign):
            found = ""
        elif kind[0] in "LMN" or sign == "'":
            found = sign
        elif kind in ("Sm", "Sc", "So") or code in _SKIN_TONES:
            found = f" {sign} "
        else:
            found = " "
        return self.setdefault(code, found)


_LETTERS = _Letters()


def is_unseen(sign: str) -> bool:
    """Whether a sign has no looks of its own and takes no place."""
    return sign in _INVISIBLE or unicodedata.category(sign) == "Cf"


def in_disguise(caption: str) -> int:
    """How many of its signs look like Latin letters, or common signs, and are others: Cyrillic or Greek letters, wide
    ones, those of mathematics, ligatures. 0 of a caption without a Latin letter, which may be Russian or Greek."""
    plain = unicodedata.normalize("NFC", caption)
    if not any("a" <= sign <= "z" for sign in plain.casefold()):
        return 0
    return sum(
        ord(sign) in _LOOK_ALIKES or (sign.isalnum() and unicodedata.normalize("NFKC", sign) != sign)
        for sign in plain
    )


def looks_of(caption: str) -> tuple[str, ...]:
    """Its words as they look, where letters of other alphabets look like Latin ones."""
    return words_of(caption.translate(_LOOK_ALIKES))


@lru_cache(1 << 16)
def words_of(caption: str) -> tuple[str, ...]:
    """Its words without case, and with the apostrophes inside them: `A dog’s “tail”` has `a`, `dog's`, `tail`.

    Composed and decomposed letters are one (NFKC, casefold), as are all apostrophes; hyphens part words.
    """
    text = unicodedata.normalize("NFKC", caption.translate(_APOSTROPHES)).casefold()
    text = unicodedata.normalize("NFKC", text).translate(_LETTERS)
    return tuple(re.sub(r"(?<!\w)'+|'+(?!\w)", " ", text).split())
