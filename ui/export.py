"""Charts, downloads, links and citations: what a view lets you take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from core.datasets.published import CITATIONS
from core.groups import GroupSet

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

# One look for all charts: no logo, a camera that saves an SVG, no zoom that a finger triggers by accident.
CHART = {"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": {"format": "svg"}}


def chart(figure: go.Figure, alt: str, key: str | None = None) -> None:
    config = {**CHART, "toImageButtonOptions": {"format": "svg", "filename": key or "crossmatch"}}
    st.plotly_chart(figure, config=config, alt=alt, key=key)


def export_section(
    name: str,
    table: pd.DataFrame | Callable[[], pd.DataFrame] | None = None,
    figures: Mapping[str, go.Figure | Callable[[], go.Figure]] | None = None,
) -> None:
    """Downloads of a view and the link to it. Files are made when they are asked for; so are tables and figures that
    are given as functions."""
    with st.popover("Export", icon=":material/download:"):
        if table is not None:
            data = lambda: (table() if callable(table) else table).to_csv(index=False).encode()  # noqa: E731
            st.download_button(
                "Table (CSV)", data, f"{name}.csv", "text/csv", on_click="ignore", icon=":material/table:"
            )
        for title, figure in (figures or {}).items():
            file = f"{name}-{title}.html".replace(" ", "-")
            page = lambda f=figure: _figure_page(f() if callable(f) else f)  # noqa: E731
            st.download_button(
                f"Figure: {title} (HTML)",
                page,
                file,
                "text/html",
                on_click="ignore",
                icon=":material/bar_chart:",
            )
        if figures:
            st.caption("For SVG, use the camera at the upper right of a figure.")
        st.caption("Link to exactly this view:")
        st.code(link(), language=None, wrap_lines=True)


def link() -> str:
    """The address of this view: page and every picked value."""
    base = (st.context.url or "").split("?")[0]
    query = urlencode([(k, v) for k in st.query_params for v in st.query_params.get_all(k)], safe="/: ")
    return f"{base}?{query}".replace(" ", "%20") if query else base


def _figure_page(figure: go.Figure) -> bytes:
    """A figure as a page of its own, on white."""
    page = {
        **figure.to_dict(),
        "layout": {**figure.to_dict()["layout"], "paper_bgcolor": "#fff", "template": "plotly_white"},
    }
    return type(figure)(page).to_html(include_plotlyjs=True, config={"displaylogo": False}).encode()


def cite(groups: GroupSet | None, papers: tuple[str, ...] = ("TTM", "Winoground")) -> None:
    """Where the data and the methods come from; papers : keys of `CITATIONS`."""
    with st.expander("Source, licence, citation", icon=":material/format_quote:"):
        if groups is not None:
            for label, text in (("Data", groups.title or groups.name), ("Source", groups.source)):
                st.text(f"{label}: {text or 'not given'}")
            st.text(f"Licence: {groups.licence or 'not given'}")
            st.text(f"Cite as: {groups.citation or groups.name}")
        for name in papers:
            st.text(CITATIONS[name])
