"""Options of a score, after the model's name as in an address: `vgpt:NAME?prompt=a photo of&end=yes`. Imports no torch.

prompt : what a captioner is asked, or continues, before the caption, in place of its family's own; of `st:` what stands
    before the captions, word for word or by its name among the model's prompts (query, document).
image_prompt : of `st:` the same for images.
end : `yes` or `no`, does the end token count? Without it, where the family's tokenizer writes one (BLIP, T5) and so its
    training loss counts it; the others' captions end with their last word.
question : what VQAScore asks; `{caption}` stands for the caption.
mean, std, count : of the null images of a blind score or of MASS.
device : where the model runs (cpu, cuda:1); batch : captions and images that pass it at once at most.
They are part of the score's key, so the cache keeps apart what they change.
"""

from __future__ import annotations

import hashlib
from copy import copy
from typing import Any
from urllib.parse import parse_qsl, urlencode

from core.base.errors import InputError

_NULL_KINDS = ("blind", "mass")
_CAPTIONED = ("vgpt", *_NULL_KINDS)
_PAIRED = (*_CAPTIONED, "vqa", "vqa-log", "itm", "lm")
# Option -> the kinds of score that it changes.
_KINDS = {
    "prompt": (*_CAPTIONED, "st"),
    "image_prompt": ("st",),
    "end": _CAPTIONED,
    "question": ("vqa", "vqa-log", "api"),
    "mean": _NULL_KINDS,
    "std": _NULL_KINDS,
    "count": _NULL_KINDS,
    "device": (*_PAIRED, "st"),
    "batch": (*_PAIRED, "st"),
}
_NULLS = ("mean", "std", "count")


class ScoreOptions(dict[str, str]):
    """Options by name, as they stand in a scorer's name."""

    @classmethod
    def split(cls, name: str) -> tuple[str, ScoreOptions]:
        """A scorer's name without its options, and them.

        Raises InputError for one that no score has, stands there twice or says nothing; a prompt alone may be empty.

        >>> ScoreOptions.split("vgpt:builtin/blip-caption?prompt=a+photo+of&end=no")
        ('vgpt:builtin/blip-caption', {'prompt': 'a photo of', 'end': 'no'})
        """
        plain, mark, text = name.partition("?")
        pairs = parse_qsl(text, keep_blank_values=True)
        options = cls(pairs)
        if any(option not in _KINDS for option in options) or (mark and not options):
            raise InputError(
                f"{name} asks for an option that no score has; after the question mark stand prompt=, image_prompt=, "
                "end=, question=, mean=, std=, count=, device= or batch=, with & between them."
            )
        if len(pairs) > len(options):
            twice = next(o for o in options if sum(o == option for option, _ in pairs) > 1)
            raise InputError(f"{name} has {twice}= twice; give it once.")
        empty = next((option for option, value in pairs if not value.strip() and option != "prompt"), None)
        if empty is not None:
            raise InputError(f"{name} leaves {empty}= empty; give it a value or leave it out.")
        return plain, options

    @classmethod
    def named(cls, name: str, **given: object) -> str:
        """A scorer's name with these options, None for none, in place of those of the same names that it has.

        >>> ScoreOptions.named("vgpt:builtin/blip-caption?end=no", prompt="a photo of", end=None)
        'vgpt:builtin/blip-caption?end=no&prompt=a+photo+of'
        """
        plain, options = cls.split(name)
        options.update({option: str(value) for option, value in given.items() if value is not None})
        return f"{plain}?{urlencode(options, safe='{}')}" if options else plain

    @staticmethod
    def changes(option: str, kind: str) -> bool:
        """Whether an option changes a kind of score."""
        return kind in _KINDS[option]

    @property
    def batch(self) -> int | None:
        """Inputs that pass the model at once at most; None for as many as fit."""
        text = self.get("batch", "")
        if text and not (text.isdecimal() and 1 <= int(text) <= 10_000):
            raise InputError(f"batch={text} is no number of inputs; give one from 1 to 10,000.")
        return int(text) if text else None

    def key(self, own: str) -> str:
        """The key of a score with these options, from its own (hex); null images have keys of their own."""
        text = "&".join(f"{name}={self[name]}" for name in sorted(self) if name not in _NULLS)
        return hashlib.sha256(f"{text} {own}".encode()).hexdigest() if text else own

    def nulls(self, pixels: tuple[float, float], count: int) -> tuple[float, float, int]:
        """Mean, standard deviation and number of null images, from a model's own where no option says otherwise."""
        try:
            mean, std = (
                float(self.get(name, own)) for name, own in zip(("mean", "std"), pixels, strict=True)
            )
            count = int(self.get("count", count))
        except ValueError:
            raise InputError("The options mean=, std= and count= take numbers.") from None
        if not (abs(mean) <= 100 and 0 < std <= 100 and 1 <= count <= 10_000):
            raise InputError(
                "Null images take a mean between -100 and 100, a std above 0 up to 100, and a count from 1 to 10,000."
            )
        return mean, std, count

    def check(self, kind: str, name: str) -> None:
        """Raise InputError for an option without effect on a kind of score, or one that says nothing it knows."""
        idle = next((option for option in self if kind not in _KINDS[option]), None)
        if idle is not None:
            raise InputError(f"{name} has no {idle}= to choose; leave it out after the question mark.")
        if self.get("end", "yes") not in ("yes", "no"):
            raise InputError(f"{name} takes end=yes or end=no.")
        if "{caption}" not in self.get("question", "{caption}"):
            raise InputError(f"The question of {name} needs {{caption}} where the caption stands.")

    def applied(self, scorer: Any, name: str) -> Any:
        """A twin of a scorer with these options; raises InputError for a scorer that has none."""
        if not hasattr(scorer, "take"):
            raise InputError(
                f"{name} has no {next(iter(self))}= to choose; leave it out after the question mark."
            )
        twin = copy(scorer)
        twin.name = name
        twin.take(self)
        return twin
