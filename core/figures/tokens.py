"""One caption token by token: log P with and without the image, as data and as accessible markup.

What the image adds to a token is log P(t | image) - log P(t): above zero where the image speaks for the word, below
where it speaks against it. Source: [VGPT] Eq. 1 and 13.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any, NamedTuple

import numpy as np

from core.figures._style import OUTCOME_COLOURS
from core.groups import ImageRef

_NO_CHANGE_NATS = 0.05  # nats; a smaller difference is called none
_FULL_COLOUR_NATS = 3.0  # nats; the deepest colour


class TokenView(NamedTuple):
    """A caption's m tokens, and log P of each, float64 (m,).

    seeing : with the image; its mean is the caption's score. blind : what each token adds to log P(t) without it, from
    null images weighed by how likely they made the tokens before; its mean is the language prior that the caption is
    debiased by, so that the mean of the differences is the debiased score at alpha = 1. A blind language model has one
    log P for both.
    """

    tokens: list[str]
    seeing: np.ndarray
    blind: np.ndarray

    @classmethod
    def of(cls, scorer: Any, image: ImageRef, caption: str, count: int = 3) -> TokenView:
        """The tokens of a caption with one image, and with `count` null images instead.

        scorer : a captioner or a blind language model (`core.scorers._generative.CaptionScorer`).
        """
        seeing, blind = scorer.token_log_probs(image, caption), scorer.blind_token_log_probs(caption, count)
        return cls(seeing.tokens, seeing.log_probs.astype(np.float64), blind.log_probs.astype(np.float64))

    @property
    def gain(self) -> np.ndarray:
        """What the image adds, float64 (m,)."""
        return self.seeing - self.blind

    @property
    def punctuation(self) -> np.ndarray:
        """Which tokens are no word: commas and the like, and the end of the caption, bool (m,)."""
        return np.array(
            [not re.search(r"\w", token) or bool(_SPECIAL.search(token)) for token in self.tokens]
        )

    def html(self) -> str:
        """The caption as coloured words, each with an arrow and a number, so that colour is never alone."""
        words = "".join(
            _word(token, *numbers)
            for token, *numbers in zip(self.tokens, self.seeing, self.blind, strict=True)
        )
        return f'<ol style="{_LIST}" aria-label="Tokens of the caption">{words}</ol>'


# `<end>`, `</s>`, `[SEP]`: as tokenizers write the end.
_SPECIAL = re.compile(r"^\s*(<[^<>]+>|\[[A-Z]+\])\s*$")
_LIST = "display:flex;flex-wrap:wrap;gap:.5rem .35rem;list-style:none;padding:0;margin:.3rem 0"
_WORD = "padding:.25rem .5rem;border-radius:.4rem;display:flex;flex-direction:column;align-items:center;line-height:1.3"
_NUMBER = "font-size:.75rem;font-variant-numeric:tabular-nums"


def _word(token: str, seeing: float, blind: float) -> str:
    gain = seeing - blind
    sign, kind, effect = "=", "tie", "the image changes little"
    if gain > _NO_CHANGE_NATS:
        sign, kind, effect = "▲", "right", "the image makes it likelier"
    elif gain < -_NO_CHANGE_NATS:
        sign, kind, effect = "▼", "wrong", "the image makes it less likely"
    red, green, blue = (int(OUTCOME_COLOURS[kind][i : i + 2], 16) for i in (1, 3, 5))
    depth = 0.10 + 0.35 * min(abs(gain) / _FULL_COLOUR_NATS, 1.0)
    style = f"{_WORD};background:rgba({red},{green},{blue},{depth:.2f});border-bottom:3px solid {OUTCOME_COLOURS[kind]}"
    text = escape(token.strip()) or "␣"
    title = f"log P {seeing:z.2f} with the image, {blind:z.2f} without: {effect}"
    change, both = f"{sign} {_gain_text(gain)}", f"{seeing:z.2f} | {blind:z.2f}"
    return (
        f'<li style="{style}" title="{_minus(title)}"><b>{text}</b><span style="{_NUMBER}">{_minus(change)}</span>'
        f'<span style="{_NUMBER};opacity:.8">{_minus(both)}</span></li>'
    )


def _gain_text(gain: float, digits: int = 2) -> str:
    """What the image adds, with its sign; zero, as it is printed, has none.

    >>> _gain_text(0.5), _gain_text(-0.001), _gain_text(0.001)
    ('+0.50', '0.00', '0.00')
    """
    text = f"{gain:+z.{digits}f}"
    return text.removeprefix("+") if float(text) == 0 else text


def _minus(numbers: str) -> str:
    """With minus signs in place of hyphens."""
    return numbers.replace("-", "−")
