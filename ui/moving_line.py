"""A line across drawn charts that moves without drawing them again.

Streamlit builds a chart anew whenever a number in it changes: a line that follows a slider would cost two drawings of
every figure it crosses, and the figure would flicker. So the figures stay as they are, and the line is an element laid
on top of each: a component sets its position, a share of the figure's width, and leaves it out where it would cross a
text of the figure. A text that the figure has twice is shown where the line does not run.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.figures import THRESHOLD_LINE

# `data.lines`: key of a chart -> share of its width. A line is part of its chart's element, so it scrolls along. Where
# a chart is drawn later, or again, its line waits for it.
_SCRIPT = """
const stops = new WeakMap();

export default ({data, parentElement: host}) => {
  stops.get(host)?.();
  const chart = key => document.querySelector(`.st-key-${key} .svg-container`);
  // A figure's own text that it would strike through has a gap in it.
  const colours = (frame, area, x) => {
    // As one that it would cover has: a mark with a text beside it.
    const shown = '.textpoint text, .annotation text, .trace:has(.textpoint) .points path';
    const boxes = [...frame.querySelectorAll(shown)]
      .filter(text => text.style.opacity !== '0' && text.closest('.annotation')?.style.opacity !== '0')
      .map(text => text.getBoundingClientRect())
      .filter(box => box.left - data.width < x && x < box.right + data.width)
      .sort((a, b) => a.top - b.top);
    const stops = boxes.flatMap(box => {
      const [top, bottom] = [box.top - area.top, box.bottom - area.top].map(y => `${Math.max(y, 0)}px`);
      return [`${data.colour} 0 ${top}`, `transparent ${top} ${bottom}`];
    });
    return `linear-gradient(${[...stops, `${data.colour} 0 100%`].join(', ')})`;
  };
  // A text that a figure has in two places is seen in the first through which the line does not run.
  const choose = (frame, x) => {
    const places = new Map();
    for (const text of frame.querySelectorAll('.annotation'))
      places.set(text.textContent, [...(places.get(text.textContent) ?? []), text]);
    for (const twins of places.values()) {
      if (twins.length < 2) continue;
      const clear = twins.find(text => {
        const box = text.getBoundingClientRect();
        return x < box.left - 4 || box.right + 4 < x;
      }) ?? twins[0];
      twins.forEach(text => {
        text.style.opacity = text === clear ? 1 : 0;
        text.style.visibility = text === clear ? '' : 'hidden';  // nor read aloud twice
        text.ariaHidden = text === clear ? null : 'true';
      });
    }
  };
  const place = (key, share) => {
    const frame = chart(key), area = frame?.querySelector('.nsewdrag')?.getBoundingClientRect();
    if (!area?.width) return;
    const line = frame.querySelector(':scope > .cm-moving-line') ?? frame.appendChild(document.createElement('div'));
    line.className = 'cm-moving-line';
    const origin = frame.getBoundingClientRect();
    const x = area.left + share * area.width;
    choose(frame, x);
    line.style.cssText = share < 0 || share > 1 ? 'display: none' : `position: absolute; pointer-events: none; `
      + `z-index: 1; width: ${data.width}px; background: ${colours(frame, area, x)}; height: ${area.height}px; `
      + `top: ${area.top - origin.top}px; left: ${x - origin.left - data.width / 2}px`;
  };
  const placeAll = () => Object.entries(data.lines).forEach(([key, share]) => place(key, share));
  let frame = 0;
  const schedule = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(placeAll); };
  const box = host.closest('[data-testid="stElementContainer"]').style;  // takes no room, not even a gap
  [box.position, box.width, box.minWidth] = ['absolute', '0', '0'];
  placeAll();
  const section = host.closest('[data-testid="stVerticalBlock"]') ?? document.body;
  const resized = new ResizeObserver(schedule), redrawn = new MutationObserver(schedule);
  resized.observe(section);
  redrawn.observe(section, {childList: true, subtree: true});
  const stop = () => { cancelAnimationFrame(frame); resized.disconnect(); redrawn.disconnect(); };
  stops.set(host, stop);
  return () => {
    stop();
    Object.keys(data.lines).forEach(key => chart(key)?.querySelector(':scope > .cm-moving-line')?.remove());
  };
};
"""
_component = st.components.v2.component("crossmatch_marker", js=_SCRIPT, isolate_styles=False)


def moving_lines(key: str, lines: Mapping[str, float]) -> None:
    """Lines over the charts with these keys, which stand in the same container, at these shares of their width.

    A share outside [0, 1] shows no line.
    """
    style = {"colour": THRESHOLD_LINE["color"], "width": THRESHOLD_LINE["width"]}
    _component(key=key, data={**style, "lines": dict(lines)})


def axis_position(value: float, span: tuple[float, float]) -> float:
    """Where a value stands on an axis that shows `span`: 0 at its left end, 1 at its right end.

    >>> axis_position(0.5, (0.0, 2.0))
    0.25
    """
    low, high = span
    return (value - low) / (high - low)
