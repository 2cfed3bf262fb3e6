"""Clicks on a drawn chart: which point was clicked, without drawing the chart again.

Plotly selects no point of a line, and a selection would redraw the figure with everything else faded. So a component
beside the chart listens to Plotly's own click events, for bars and curves alike.
"""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

_SCRIPT = """
const stops = new WeakMap();

export default ({data, parentElement: host, setTriggerValue}) => {
  stops.get(host)?.();
  let plot = null;
  const clicked = event => {
    const point = event.points[0];
    setTriggerValue('point', {x: point.x, y: point.y, trace: point.data.name ?? ''});
  };
  const listen = () => {
    const drawn = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
    if (drawn === plot || !drawn?.on) return;
    plot?.removeListener?.('plotly_click', clicked);
    plot = drawn;
    plot.on('plotly_click', clicked);
    plot.classList.add('cm-clickable');
  };
  const box = host.closest('[data-testid="stElementContainer"]').style;  // takes no room, not even a gap
  [box.position, box.width, box.minWidth] = ['absolute', '0', '0'];
  listen();
  const redrawn = new MutationObserver(listen);
  redrawn.observe(host.closest('[data-testid="stVerticalBlock"]') ?? document.body, {childList: true, subtree: true});
  const stop = () => { redrawn.disconnect(); plot?.removeListener?.('plotly_click', clicked); plot = null; };
  stops.set(host, stop);
  return stop;
};
"""
_component = st.components.v2.component("crossmatch_chart_clicks", js=_SCRIPT, isolate_styles=False)


class ChartPoint(NamedTuple):
    """A clicked point: its place on the axes, and the name of its bars or curve as the legend has it."""

    x: float
    y: float
    trace: str


def clicked_point(chart: str) -> ChartPoint | None:
    """The point of the chart with this key that was clicked just now; None in every other run of the page.

    Called in the container that holds the chart.
    """
    point = _component(key=f"{chart}-clicks", data={"chart": chart}, on_point_change=lambda: None).point
    return None if not point else ChartPoint(float(point["x"]), float(point["y"]), str(point["trace"]))
