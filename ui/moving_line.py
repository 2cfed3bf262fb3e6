"""A line across drawn charts that moves without drawing them again.

Streamlit builds a chart anew whenever a number in it changes: a line that follows a slider would cost two drawings of
every figure it crosses, and the figure would flicker. So the figures stay as they are, and the line lies on top of
them: a part of the page of its own that is told where to stand, as a share of each figure's width.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.figures import THRESHOLD_LINE

# `data.lines`: key of a chart -> share of its width. Where a chart is drawn later, or again, its line waits for it.
_SCRIPT = """
const watches = new WeakMap();

export default ({data, parentElement: host}) => {
  watches.get(host)?.();
  const waiting = new Set();
  const place = (key, share) => {
    const line = host.querySelector(`[data-line="${key}"]`) ?? host.appendChild(document.createElement('div'));
    line.dataset.line = key;
    const area = document.querySelector(`.st-key-${key} .nsewdrag`)?.getBoundingClientRect();
    if (!area?.width || share < 0 || share > 1) { line.style.display = 'none'; return; }
    const origin = host.getBoundingClientRect();
    line.style.cssText = `position: absolute; pointer-events: none; z-index: 1; width: ${data.width}px; `
      + `background: ${data.colour}; height: ${area.height}px; top: ${area.top - origin.top}px; `
      + `left: ${area.left - origin.left + share * area.width - data.width / 2}px`;
  };
  const all = () => Object.entries(data.lines).forEach(([key, share]) => place(key, share));
  let frame = 0;
  const soon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(all); };
  host.style.position = 'relative';
  const box = host.closest('[data-testid="stElementContainer"]').style;  // takes no room, not even a gap
  [box.position, box.width, box.minWidth] = ['absolute', '0', '0'];
  all();
  const ground = host.closest('[data-testid="stVerticalBlock"]') ?? document.body;
  const resized = new ResizeObserver(soon), drawn = new MutationObserver(soon);
  resized.observe(ground);
  drawn.observe(ground, {childList: true, subtree: true});
  const stop = () => { cancelAnimationFrame(frame); resized.disconnect(); drawn.disconnect(); };
  watches.set(host, stop);
  return stop;
};
"""
_component = st.components.v2.component("crossmatch_marker", js=_SCRIPT, isolate_styles=False)


def moving_lines(key: str, lines: Mapping[str, float]) -> None:
    """Lines over the charts with these keys, which stand in the same container, at these shares of their width.

    A share outside [0, 1] shows no line.
    """
    look = {"colour": THRESHOLD_LINE["color"], "width": THRESHOLD_LINE["width"]}
    _component(key=key, data={**look, "lines": dict(lines)})


def axis_position(value: float, span: tuple[float, float]) -> float:
    """Where a value stands on an axis that shows `span`: 0 at its left end, 1 at its right end.

    >>> axis_position(0.5, (0.0, 2.0))
    0.25
    """
    low, high = span
    return (value - low) / (high - low)
