"""An encoded image, reduced to what its pixels need before anything decodes it.

Pillow reads all that a file says of itself in Python, mark by mark: of 9 MB of comments, of profiles that unpack to
a megabyte each, or of EXIF tags that all name the same bytes, it takes minutes, or gigabytes. So here the file is gone
through first, in bounded steps; metadata is left out, but for how the camera was held.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from PIL import Image, ImageChops, UnidentifiedImageError

from core.base.errors import InputError
from core.base.limits import LOCAL, PUBLIC
from core.base.public_mode import is_public

MOST_SCANS = 25  # of one JPEG; libjpeg itself writes at most 18
MOST_SIDE = 65_535  # pixels: a row costs memory of its own, however short it is
_MOST_PARTS = 20_000  # chunks of a PNG or WebP: an IDAT chunk may have no more than 8 kB
_MOST_SEGMENTS = 2000  # of a JPEG before its first scan
_MOST_BLOCKS = 200_000  # of a GIF before its first picture
_MOST_STRIPS = 100_000  # or tiles, of a TIFF
_MOST_TILE = 50_000_000  # pixels of one tile, which is decoded whole
_MOST_TAGS = 1000
_AGAIN = "save it anew"

_SIGNATURES = {
    "PNG": rb"\x89PNG\r\n\x1a\n",
    "JPEG": rb"\xff\xd8\xff",
    "WEBP": rb"RIFF....WEBP",
    "GIF": rb"GIF8[79]a",
    "BMP": rb"BM",
    "TIFF": rb"II\*\0|MM\0\*|II\+\0|MM\0\+",
    "PPM": rb"P[1-6f]",
}
FORMATS = tuple(_SIGNATURES)  # Pillow knows more, and starts other programs for some
_OF_THE_WEB = ("PNG", "JPEG", "WEBP")  # what browsers and cameras write
_MOST_WEBP = 12_500_000  # pixels of a stranger's WebP: its decoder holds each four times over
_SIGNATURE = re.compile(b"|".join(b"(?P<%s>%s)" % (k.encode(), s) for k, s in _SIGNATURES.items()), re.DOTALL)
# Markers of JPEG: those that a length follows, and the end (D9).
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")
_BREAK = rb"(?:\s|#[^\r\n]{0,200}[\r\n]){1,20}"  # between the numbers of a PPM's header
_PPM = re.compile(
    rb"P(?:4(?:%(b)s\d{1,9}){2}|[56](?:%(b)s\d{1,9}){3}|f(?:%(b)s\d{1,9}){2}%(b)s-?[\d.eE+-]{1,20})\s"
    % {b"b": _BREAK}
)
_ORIENTATION = 0x0112  # EXIF: how the camera was held
_BYTES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}


_HEAD, _TAIL = 16, 4096  # bytes of a file that tell whether it may be cut short
_PADDING = b"\0\r\n "  # behind the end of some files


def _may_be_cut(head: bytes, tail: bytes, size: int) -> bool:
    """Whether an image file may have lost its end, by its first `_HEAD` and last `_TAIL` bytes, or is no image: to be
    decoded for certainty, as some whole files have more behind their end. Of TIFF and PPM nothing is known."""
    found = _SIGNATURE.match(head)
    kind, end = found.lastgroup if found else None, tail.rstrip(_PADDING)
    if kind == "JPEG":
        return b"\xff\xd9" not in tail  # between a scan's first byte and its last there is none
    if kind == "PNG":
        return b"IEND" not in tail
    if kind == "GIF":
        return not end.endswith(b";")
    if kind in ("WEBP", "BMP"):
        start, more = (4, 8) if kind == "WEBP" else (2, 0)
        return int.from_bytes(head[start : start + 4], "little") + more > size
    return kind is None


def _on_white(image: Image.Image) -> Image.Image:
    """RGB pixels; what lets the background through lies on white, as on paper.

    `convert("RGB")`, which the papers' code does, shows what is stored below transparent pixels, mostly black: nobody
    has ever seen that. An opaque picture is exactly what it is there, so that published sets, whose pictures are
    opaque, stay as the papers have them; one of theirs with transparent pixels is laid on white too.
    """
    if not _lets_through(image):
        return image.convert("RGB")
    clear = image if image.mode == "RGBA" else image.convert("RGBA")
    picture = clear.convert("RGB")  # which keeps how the camera was held
    picture.paste("white", mask=ImageChops.invert(clear.getchannel("A")))
    return picture


def _lets_through(image: Image.Image) -> bool:
    """Whether a picture may have transparent pixels; Pillow's own answer fails where a palette is missing."""
    return image.mode in ("LA", "PA", "RGBA", "RGBa") or "transparency" in image.info


class ImageFile:
    """An encoded image as strangers may bring it.

    stranger : whether it is held to the limits of a public server, and to the formats of the web; None: where this is
    one. formats : those that are read. kind : one of them by the first bytes, or None. data : the file without what its
    pixels do not need, or as it is where it is refused. refusal : why nothing should decode it and what to do, or None;
    of a file that is cut short or damaged the decoder will say so.
    """

    formats: Sequence[str]
    kind: str | None
    data: bytes
    refusal: tuple[str, str] | None

    def __init__(self, data: bytes, stranger: bool | None = None) -> None:
        self._public = is_public() if stranger is None else stranger
        self.formats = _OF_THE_WEB if self._public else FORMATS
        found = _SIGNATURE.match(data)
        kind = found.lastgroup if found else None
        self.kind, self.data, self.refusal = kind if kind in self.formats else None, data, None
        try:
            if self.kind is not None:
                self.data = _REDUCED[self.kind](data)
        except _Refused as refused:
            self.refusal = refused.what, refused.fix

    def decode(self, where: str, side: int | None = None, alone: bool = False) -> Image.Image:
        """RGB pixels, at most `side` a side if that is given. Of its metadata there is how the camera was held.
        alone : whether it belongs to no set, so that no group can be left out.

        Raises InputError for what is no whole image, and, before anything is decoded, for one that is refused or has
        too many pixels.
        """
        otherwise = "" if alone else " or leave its group out"
        if self.kind is None:
            names = ", ".join(self.formats)
            raise InputError(
                f"The image {where} does not open: it is none of {names}; save it as PNG{otherwise}."
            )
        if self.refusal is not None:
            raise InputError(f"The image {where} {self.refusal[0]}; {self.refusal[1]}.")
        try:
            image = Image.open(io.BytesIO(self.data), formats=[self.kind])
            self._check_pixels(image.size, where)
            if side is None:
                return self.to_rgb(image)
            image.draft("RGB", (side, side))  # a JPEG is decoded no larger than that takes
            plain = image.mode == "RGB" and not _lets_through(image)
            picture = image if plain else self.to_rgb(image)  # no second copy of the whole
            picture.thumbnail((side, side))
            picture.load()  # one that is smaller already has not been read, and may be cut short
            return picture
        except InputError:
            raise
        except UnidentifiedImageError:
            raise InputError(
                f"The image {where} does not open: it is damaged; replace it{otherwise}."
            ) from None
        except Image.DecompressionBombError:  # before its width and height can be asked
            most = f"{self._most_pixels / 1e6:g} megapixels"
            raise InputError(
                f"The image {where} has too many pixels; the limit is {most}: make it smaller."
            ) from None
        except (OSError, ValueError, SyntaxError) as error:
            raise InputError(f"The image {where} does not open ({error}); replace it{otherwise}.") from None

    @staticmethod
    def to_rgb(image: Image.Image) -> Image.Image:
        """RGB pixels, uint8; of 16 bits of grey the upper eight, as Pillow takes of 16 of colour (it makes all grey
        above 255 white)."""
        deep = image.mode.startswith("I;16") or (image.format == "PPM" and image.mode == "I")
        if deep:
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        return _on_white(image)

    @property
    def _most_pixels(self) -> int:
        if self._public and self.kind == "WEBP":
            return _MOST_WEBP
        return (PUBLIC if self._public else LOCAL).pixels

    def _check_pixels(self, size: tuple[int, int], where: str) -> None:
        (width, height), most = size, self._most_pixels
        limit = f"{most / 1e6:g} megapixels" if width * height > most else f"{MOST_SIDE:,} a side"
        if width * height > most or max(size) > MOST_SIDE:
            raise InputError(
                f"The image {where} has {width} x {height} pixels; the limit is {limit}: make it smaller."
            )


class _Refused(Exception):
    def __init__(self, what: str, fix: str = _AGAIN) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


# --- PNG -------------------------------------------------------------------------------------------------------------


def _png(data: bytes) -> bytes:
    """The chunks that hold the picture. What is said of colours beside it, Pillow does not heed."""
    kept, turned = [data[:8]], 1
    for name, start, end in _chunks(data, 8, is_png=True):
        if name in (b"PLTE", b"tRNS", b"IDAT", b"IEND") or (name == b"IHDR" and len(kept) == 1):
            kept.append(data[start:end])
        elif name == b"eXIf":
            turned = _orientation(data[start + 8 : end - 4])
        if name == b"IEND":
            break
    if turned != 1:
        exif = b"eXIf" + _exif(turned)
        kept.insert(2, struct.pack(">I", len(exif) - 4) + exif + struct.pack(">I", zlib.crc32(exif)))
    return b"".join(kept)


def _chunks(data: bytes, place: int, is_png: bool) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and end of each chunk of a PNG or a WebP; of one that is cut short the end lies behind the data."""
    count = 0
    while place + 8 <= len(data):
        count += 1
        if count > _MOST_PARTS:
            raise _Refused(f"has more than {_MOST_PARTS:,} parts")
        if is_png:
            size, name = struct.unpack_from(">I4s", data, place)
            end = place + 12 + size
        else:
            name, size = struct.unpack_from("<4sI", data, place)
            end = place + 8 + size + size % 2
        yield name, place, end
        place = end


# --- JPEG ------------------------------------------------------------------------------------------------------------


def _jpeg(data: bytes) -> bytes:
    """Tables, frame and scans. Of what applications add, JFIF and Adobe's segment tell which colours there are."""
    kept, turned = [data[:2]], 1
    for number, (code, start, end) in enumerate(_segments(data)):
        if number >= _MOST_SEGMENTS:
            raise _Refused(f"is a JPEG of more than {_MOST_SEGMENTS:,} segments")
        if code == 0xDA:
            _check_scans(data, start)
            kept.append(data[start:])
            break
        if code == 0xE1 and turned == 1 and data[start + 4 : start + 10] == b"Exif\0\0":
            turned = _orientation(data[start + 10 : end])
        if code in (0xE0, 0xEE) or not 0xE0 <= code <= 0xFE:
            kept.append(data[start:end])
    if turned != 1:
        exif = b"Exif\0\0" + _exif(turned)
        kept.insert(1, b"\xff\xe1" + struct.pack(">H", 2 + len(exif)) + exif)
    return b"".join(kept)


def _segments(data: bytes, place: int = 2) -> Iterator[tuple[int, int, int]]:
    """Code, start and end of each of a JPEG's segments up to its end, as libjpeg finds them (ITU T.81, B.1.1): what
    lies between, such as a scan's content, is passed over, and so is what a segment holds.
    """
    marker = _MARKER.search(data, place)
    while marker is not None and marker[1] != b"\xd9":
        length = int.from_bytes(data[marker.end() : marker.end() + 2], "big")
        end = marker.end() + max(length, 2)
        yield marker[1][0], marker.start(), end
        marker = _MARKER.search(data, end)


def _check_scans(data: bytes, first: int) -> None:
    """Each scan, be it of some bytes, takes a pass over all pixels. A film behind the picture is none."""
    if data.count(b"\xff\xda", first) <= MOST_SCANS:
        return
    scans = 0
    for number, (code, _, _) in enumerate(_segments(data, first)):
        scans += code == 0xDA
        if scans > MOST_SCANS or number >= _MOST_SEGMENTS:
            raise _Refused(f"is a JPEG of more than {MOST_SCANS} scans, too many to decode")


# --- WebP ------------------------------------------------------------------------------------------------------------


def _webp(data: bytes) -> bytes:
    kept, turned, missing = [b""], 1, 0
    for name, start, end in _chunks(data, 12, is_png=False):
        if name == b"EXIF":
            exif = data[start + 8 : end]
            turned = _orientation(exif.removeprefix(b"Exif\0\0"))
        elif name == b"VP8X":
            flags = (
                data[start + 8] & ~0x2C if end <= len(data) and end > start + 8 else 0
            )  # no ICC, EXIF, XMP
            kept.append(data[start : start + 8] + bytes([flags]) + data[start + 9 : end])
        elif name in (b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF"):
            kept.append(data[start:end])
            missing = max(0, end - len(data))
    if turned != 1 and len(kept) > 1 and kept[1].startswith(b"VP8X"):
        kept[1] = kept[1][:8] + bytes([kept[1][8] | 0x08]) + kept[1][9:]
        kept.append(b"EXIF" + struct.pack("<I", 26) + _exif(turned))
    content = b"WEBP" + b"".join(kept)
    return b"RIFF" + struct.pack("<I", (len(content) + missing) & 0xFFFFFFFF) + content


# --- GIF -------------------------------------------------------------------------------------------------------------


def _gif(data: bytes) -> bytes:
    """The first picture and what controls it: each comment is added to all that came before."""
    place = 13 + (3 << (data[10] % 8 + 1) if len(data) > 10 and data[10] & 0x80 else 0)
    header, control, blocks = data[:place], b"", 0
    mark = re.compile(rb"[!,;]")
    while found := mark.search(data, place):
        blocks += 1
        if found[0] != b"!":
            return header + control + data[found.start() :]
        end = found.start() + 2
        while end < len(data) and data[end]:
            end += 1 + data[end]
            blocks += 1
            if blocks > _MOST_BLOCKS:
                raise _Refused("is a GIF of too many comments")
        place = end + 1
        if data[found.start() + 1 : found.start() + 2] == b"\xf9":
            control = data[found.start() : place]
    return header + control


# --- TIFF, PPM -------------------------------------------------------------------------------------------------------


def _tiff(data: bytes) -> bytes:
    """As it is, unless its first directory asks for more than a file of its size holds."""
    order, large = ("<" if data[:1] == b"I" else ">"), data[2:4] in (b"+\0", b"\0+")
    entry = struct.Struct(order + ("HHQ8s" if large else "HHI4s"))
    number, at = (order + "Q", 8) if large else (order + "I", 4)
    try:
        (place,) = struct.unpack_from(number, data, at)
        (count,) = struct.unpack_from(order + ("Q" if large else "H"), data, place)
        if count > _MOST_TAGS:
            raise _Refused(f"is a TIFF of more than {_MOST_TAGS:,} tags")
        first = place + (8 if large else 2)
        tags = [entry.unpack_from(data, first + i * entry.size) for i in range(count)]
    except struct.error:
        return data  # cut short
    if sum(_BYTES.get(kind, 0) * amount for _, kind, amount, _ in tags) > len(data):
        raise _Refused("is a TIFF whose tags name the same bytes again and again")
    if any(tag in (273, 279, 324, 325) and amount > _MOST_STRIPS for tag, _, amount, _ in tags):
        raise _Refused(f"is a TIFF of more than {_MOST_STRIPS:,} strips or tiles")
    sides = {
        tag: struct.unpack_from(order + ("H" if kind == 3 else "I"), value)[0]
        for tag, kind, _, value in tags
        if tag in (322, 323)
    }
    if sides.get(322, 0) * sides.get(323, 0) > _MOST_TILE:
        raise _Refused(f"is a TIFF with a tile of more than {_MOST_TILE // 10**6} megapixels")
    return data


def _ppm(data: bytes) -> bytes:
    """As it is, if its numbers are bytes and its header is short: text, and comments, Pillow reads letter by letter."""
    if data[1:2] in b"123":
        raise _Refused("is a PPM written out as text", "save it as PNG")
    if _PPM.match(data, 0, 10_000) is None:
        raise _Refused("is a PPM without a header, or with a long one", "save it as PNG")
    return data


# --- EXIF ------------------------------------------------------------------------------------------------------------


def _orientation(exif: bytes) -> int:
    """1 to 8, from an EXIF block (a TIFF header with its first directory); 1, upright, where it says none."""
    order = "<" if exif[:2] == b"II" else ">"
    try:
        (place,) = struct.unpack_from(order + "I", exif, 4)
        (count,) = struct.unpack_from(order + "H", exif, place)
        for i in range(min(count, _MOST_TAGS)):
            tag, kind, _, value = struct.unpack_from(order + "HHI4s", exif, place + 2 + 12 * i)
            if tag == _ORIENTATION and kind in (3, 4):
                (turned,) = struct.unpack_from(order + ("H" if kind == 3 else "I"), value)
                return turned if 1 <= turned <= 8 else 1
    except struct.error:
        pass
    return 1


def _exif(turned: int) -> bytes:
    """An EXIF block, 26 bytes, that says how the camera was held and nothing else."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, _ORIENTATION, 3, 1, turned, 0, 0)


_REDUCED: dict[str, Callable[[bytes], bytes]] = {
    "PNG": _png,
    "JPEG": _jpeg,
    "WEBP": _webp,
    "GIF": _gif,
    "BMP": lambda data: data,
    "TIFF": _tiff,
    "PPM": _ppm,
}
