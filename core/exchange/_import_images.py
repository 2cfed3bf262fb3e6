"""A user's images: found by name, verified, and kept by content in the staged folder."""

from __future__ import annotations

import hashlib
import io
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError
from rapidfuzz import fuzz, process

from core.base.image_files import MOST_SIDE, ImageFile
from core.base.limits import LOCAL
from core.base.paths import is_file

MAX_PIXELS = LOCAL.pixels
MAX_BYTES = 64 << 20  # of one image file
_FORMATS = {
    "PNG": ".png",
    "JPEG": ".jpg",
    "WEBP": ".webp",
    "GIF": ".gif",
    "BMP": ".bmp",
    "TIFF": ".tif",
}
_SMALLER = f"make it smaller than {MAX_PIXELS // 10**6} megapixels and {MOST_SIDE:,} pixels a side"
_STAGING = ".staging-"  # how folders of ours begin, aside from the sets; no message shows one
_ORIENTATION = 0x0112  # EXIF: how the camera was held


class RowError(Exception):
    """A cell of a user's table cannot be used: what is wrong with it, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


class ImageFinder:
    """Images by the names a manifest gives them, in and below its folder."""

    def __init__(self, folder: Path, in_use: Callable[[], Iterable[str]] = tuple) -> None:
        """in_use : the names that the whole manifest gives, asked for once, where one of them is missing."""
        self.folder = folder
        self._in_use = in_use

    def read(self, name: str) -> bytes:
        """The bytes of an image file; `RowError` where there is no such file, with the nearest name."""
        path = self._path(name)
        try:
            if path.stat().st_size > MAX_BYTES:
                raise RowError(f"{name!r} is larger than {MAX_BYTES >> 20} MiB", "save it smaller")
            return path.read_bytes()
        except OSError as error:
            raise RowError(
                f"{name!r} cannot be read ({error.strerror})", "check the file and its permissions"
            ) from None

    def _path(self, name: str) -> Path:
        if name.startswith(("http://", "https://")):
            raise RowError(f"{name!r} is a web address", "download the image and give its file name")
        inside = PurePosixPath(name.replace("\\", "/"))
        if (
            inside.is_absolute()
            or ".." in inside.parts
            or not inside.parts
            or ":" in inside.parts[0]
            or "\0" in name
        ):
            raise RowError(
                f"{name!r} points outside the folder", "give the image's path relative to the manifest"
            )
        for form in (
            str(inside),
            unicodedata.normalize("NFC", str(inside)),
            unicodedata.normalize("NFD", str(inside)),
        ):
            for base in (self.folder, self.folder / "images"):
                if is_file(base / form):
                    return base / form
        near = process.extractOne(str(inside), self._unused, scorer=fuzz.ratio, score_cutoff=70)
        put = f"put it into {self.folder.name or 'the folder'}"
        if self.folder.name.startswith(_STAGING):  # a table that came alone
            put = "put the table and its images into one zip"
        raise RowError(f"there is no image {name!r}", f"did you mean {near[0]!r}?" if near else put)

    @cached_property
    def _unused(self) -> list[str]:
        """Files below the folder that no row names, for suggestions alone: that of another row is not the one meant."""
        named = {
            unicodedata.normalize("NFC", str(PurePosixPath(n.replace("\\", "/")))) for n in self._in_use()
        }
        named |= {f"images/{name}" for name in named}
        return [name for name in self._names if unicodedata.normalize("NFC", name) not in named]

    @cached_property
    def _names(self) -> list[str]:
        """Files below the folder."""
        found: list[str] = []
        for path in self.folder.rglob("*"):
            if len(found) >= 20_000:
                break
            if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"):
                found.append(path.relative_to(self.folder).as_posix())
        return found


class ImageStore:
    """Verified images in a folder, each content once, named by its hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[str, str] = {}  # sha256 of what was given -> stored name
        self.bytes = 0

    def add(self, data: bytes, name: str) -> str:
        """Store an image, upright; returns its name in the folder. `RowError` for what is no whole image."""
        key = hashlib.sha256(data).hexdigest()
        if key not in self._known:
            upright, ending = verify_image(data, name)
            stored = hashlib.sha256(upright).hexdigest()[:32] + ending
            (self.folder / stored).write_bytes(upright)
            self.bytes += len(upright)
            self._known[key] = stored
        return self._known[key]


def verify_image(data: bytes, name: str) -> tuple[bytes, str]:
    """An image's bytes and the ending of its format, once every pixel has been decoded.

    A photograph that its camera marked as turned is stored turned. `RowError` for what no program would show, for more
    than MOST_PIXELS pixels, for what would take much to read (`ImageFile`), and for formats other than PNG, JPEG, WebP,
    GIF, BMP, TIFF.
    """
    if not data:
        raise RowError(f"{name!r} is empty", "copy the image again")
    file = ImageFile(data, stranger=False)  # a set is brought to one's own machine alone
    if file.kind not in _FORMATS:
        what = "not an image of a kind that is read" if file.kind is None else f"a {file.kind} image"
        raise RowError(f"{name!r} is {what}", "save it as PNG or JPEG")
    if file.refusal is not None:
        raise RowError(f"{name!r} {file.refusal[0]}", file.refusal[1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # sizes are checked here
            with Image.open(io.BytesIO(file.data), formats=[file.kind]) as image:
                return _checked(image, data, name)
    except UnidentifiedImageError:
        raise RowError(f"{name!r} is damaged", "copy or save the image again") from None
    except Image.DecompressionBombError:
        raise RowError(f"{name!r} has too many pixels", _SMALLER) from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, MemoryError) as error:
        raise RowError(f"{name!r} is damaged ({error})", "copy or save the image again") from None


def _checked(image: Any, data: bytes, name: str) -> tuple[bytes, str]:
    width, height = image.size
    if width * height > MAX_PIXELS or max(width, height) > MOST_SIDE:
        raise RowError(
            f"{name!r} has {width} x {height} pixels",
            _SMALLER,
        )
    turned = image.getexif().get(_ORIENTATION, 1) not in (None, 1)
    image.load()  # a file that was cut short fails here
    if not turned:
        return data, _FORMATS[image.format]
    upright = io.BytesIO()
    ImageFile.to_rgb(ImageOps.exif_transpose(image)).save(upright, "PNG")
    return upright.getvalue(), ".png"
