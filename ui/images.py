"""Images of a group, and the group drawn with its matching."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import Group, ImageRef
from core.metrics.table import GroupData
from ui.selection import open_group


@st.cache_data(max_entries=4000, show_spinner=False)
def image_uri(key: str, size: int, _image: ImageRef) -> str:
    """A picture as a data address, at most `size` pixels on a side; `key` is its content hash."""
    return group_html.picture_uri(_image.open(size), size)


def image_tags(group: Group, size: int) -> list[str]:
    """The group's images as markup; the alternative text names them and gives nothing away."""
    names = [f"Image {group_html.image_name(i)}" for i in range(len(group.images))]
    return [
        f'<img src="{image_uri(ref.key, size, ref)}" alt="{n}">'
        for n, ref in zip(names, group.images, strict=True)
    ]


def draw_group(
    group: Group,
    data: GroupData,
    revealed: bool = True,
    student: Sequence[int | None] | None = None,
    size: int = 320,
) -> None:
    """Images, captions and the lines between them."""
    st.html(group_html.matching_html(image_tags(group, size), group.captions, data, revealed, student))


def group_card(group: Group, marks: Sequence[tuple[str, str]], button: str, key: str) -> None:
    """A group as a card with (outcome, text) marks, and the button that opens it."""
    st.html(group_html.card_html(image_tags(group, 200), group.captions, list(marks)))
    st.button(
        button,
        key=f"{key}-{group.id}",
        on_click=open_group,
        args=(group.id,),
        help=f"Open group {escape_markdown(group.id)}",
    )
