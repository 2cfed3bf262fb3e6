"""Clicks on a drawn chart: which point was clicked, without drawing the chart again.

Plotly selects no point of a line, and a selection would redraw the figure with everything else faded. So a component
beside the chart listens to Plotly's own click events, for bars and curves alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

_SCRIPT = """
const stops = new WeakMap();

export default ({data, parentElement: host, setTriggerValue}) => {
  stops.get(host)?.();
  let plot = null;
  const clicked = event => {
    const point = event.points[0], area = plot.querySelector('.nsewdrag').getBoundingClientRect();
    const share = (event.event.clientX - area.left) / area.width;
    setTriggerValue('point', {x: point.x, y: point.y, trace: point.data.name ?? '', share});
  };
  // Where no curve is: left or right of the plot, and at the numbers below it.
  const beside = event => {
    const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
    const inside = event.clientX >= area.left && event.clientX <= area.right && event.clientY <= area.bottom;
    if (inside || event.clientY < area.top || event.target.closest('.modebar, .legend')) return;
    const share = Math.min(Math.max((event.clientX - area.left) / area.width, 0), 1);
    setTriggerValue('point', {x: share, y: 0, trace: '', share});
  };
  const forget = () => {
    plot?.removeListener?.('plotly_click', clicked);
    plot?.removeEventListener?.('click', beside);
  };
  const listen = () => {
    const drawn = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
    if (drawn === plot || !drawn?.on) return;
    forget();
    plot = drawn;
    plot.on('plotly_click', clicked);
    if (data.beside) plot.addEventListener('click', beside);
    plot.classList.add('cm-clickable');
  };
  const box = host.closest('[data-testid="stElementContainer"]').style;  // takes no room, not even a gap
  [box.position, box.width, box.minWidth] = ['absolute', '0', '0'];
  listen();
  const redrawn = new MutationObserver(listen);
  redrawn.observe(host.closest('[data-testid="stVerticalBlock"]') ?? document.body, {childList: true, subtree: true});
  const stop = () => { redrawn.disconnect(); forget(); plot = null; };
  stops.set(host, stop);
  return stop;
};
"""
_component = st.components.v2.component("crossmatch_chart_clicks", js=_SCRIPT, isolate_styles=False)


class ChartPoint(NamedTuple):
    """A clicked point: its place on the axes, the name of its bars or curve as the legend has it, and where on the
    figure's width the pointer was, 0 at the left end of the axis, 1 at the right."""

    x: float
    y: float
    trace: str
    share: float = 0.0


def clicked_point(
    chart: str, on_click: Callable[[ChartPoint], None] | None = None, beside: bool = False
) -> ChartPoint | None:
    """The point of the chart with this key that was clicked just now; None in every other run of the page.

    Called in the container that holds the chart. on_click : called with the point before the page runs.
    beside : whether a press left or right of the plot, or on the numbers below it, counts: of it `share` alone is
    known, from 0 to 1.
    """
    key = f"{chart}-clicks"

    def clicked() -> None:
        if on_click is not None:
            on_click(_chart_point(st.session_state[key].point))

    point = _component(key=key, data={"chart": chart, "beside": beside}, on_point_change=clicked).point
    return None if not point else _chart_point(point)


def _chart_point(point: Mapping[str, Any]) -> ChartPoint:
    return ChartPoint(float(point["x"]), float(point["y"]), str(point["trace"]), float(point["share"]))
