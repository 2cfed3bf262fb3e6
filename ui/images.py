"""Images of a group, and the group drawn with its matching; a click on an image shows it large."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

import streamlit as st

from core.datasets.embeddings import RowImage
from core.datasets.score_files import _NAME
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import Group, ImageRef
from core.metrics.group_metrics import GroupData
from core.metrics.groups import METRICS
from ui.compute_queue import PICTURES
from ui.selection import group_title, open_group

_LARGE = 1000  # pixels of an enlarged image's longer side
_SHOWN = 480  # pixels of an image in a view; pages draw it 240 wide or more, on screens of up to twice that density
_ON_A_CARD = 320  # of one among many: sharp on most screens, drawn in less than half the time
_IN_A_ROW = 160  # of one in a list for phones
_AT_A_LETTER = 96  # of one beside the letter of its row in a matrix
_MOST_SCORES = 16  # of a matrix on a small card


@st.cache_data(max_entries=4000, show_spinner=False)
def _image_uri(key: str, size: int, _image: ImageRef) -> tuple[str, int, int]:
    """A picture as a data address, at most `size` pixels on a side, its width and its height; `key` is its content
    hash."""
    with PICTURES.one():
        picture = _image.open(size)
        return group_html.picture_uri(picture, size), *picture.size


@st.cache_data(max_entries=64, show_spinner=False)
def _large_uri(key: str, _image: ImageRef) -> str:
    with PICTURES.one():
        return group_html.picture_uri(_image.open(_LARGE), _LARGE)


def enlargeable_image(image: ImageRef, description: str, size: int = _SHOWN) -> str:
    """An image as markup: a button that shows it large.

    description : what the image shows and where it belongs; the button's name, and the text below the large image.
    """
    if isinstance(image, RowImage):  # of an uploaded file
        return f'<span class="cm-none">{escape(image.label)}</span>'
    st.session_state.setdefault("drawn_images", {})[image.key] = image
    address, width, height = _image_uri(image.key, size, image)
    # With its shape told, a picture has its place before it is decoded, and moves nothing below it.
    return (
        f'<button type="button" class="cm-zoom" data-image="{image.key}" title="Enlarge"><img src="{address}" '
        f'width="{width}" height="{height}" alt="{escape(description, quote=True)}"></button>'
    )


def thumbnail(image: ImageRef, size: int = _ON_A_CARD) -> str:
    """An image as markup that is nothing but decoration."""
    address, width, height = _image_uri(image.key, size, image)
    return f'<img src="{address}" width="{width}" height="{height}" alt="">'


def image_tags(
    group: Group, described: bool = True, size: int = _SHOWN, data: GroupData | None = None
) -> list[str]:
    """The group's images as markup.

    described : whether the alternative text holds the true caption; not where a student is to guess it. data : whose
    matching it then holds, too.
    """
    descriptions = group_html.image_descriptions(group, described, data)
    return [enlargeable_image(*each, size) for each in zip(group.images, descriptions, strict=True)]


def draw_group(
    group: Group,
    data: GroupData,
    revealed: bool = True,
    student: Sequence[int | None] | None = None,
    metric: str | None = None,
) -> None:
    """Images, captions and the lines between them: the matching, or what a metric judges."""
    st.html(group_drawing(group, data, revealed, student, metric))


def group_drawing(
    group: Group,
    data: GroupData,
    revealed: bool = True,
    student: Sequence[int | None] | None = None,
    metric: str | None = None,
) -> str:
    """What `draw_group` draws, as markup."""
    images = image_tags(group, described=revealed, data=data if metric is None else None)
    return group_html.matching_html(images, group.captions, data, revealed, student, metric)


def shades_bar(more: str = "") -> None:
    """Which end of the shades of a score matrix in HTML is high, right at once in either theme. more : what follows."""
    st.html(group_html._shades_html(more))


def shades_key() -> str:
    """Which end of the shades of a score matrix is high that is a chart: it keeps those of the theme in which it was
    drawn, `matrix_cells` turns them round."""
    return f"Scores: the {'brighter' if st.context.theme.type == 'dark' else 'darker'}, the higher."


def row_pictures(group: Group) -> list[str]:
    """The pictures of a group as small as a row of its matrix; [] where it has none."""
    return [thumbnail(image, _AT_A_LETTER) for image in group.images] if has_pictures(group) else []


def has_pictures(group: Group) -> bool:
    """Whether there is anything to look at: a file of scores or embeddings has rows alone."""
    return not isinstance(group.images[0], RowImage)


def has_captions(group: Group) -> bool:
    """Whether a group's captions are texts: a file of scores or embeddings may only name them, or have rows alone."""
    return has_pictures(group) or not all(map(_NO_TEXT.fullmatch, group.captions))


_NO_TEXT = re.compile(rf"caption (\d+|[0-9a-f]{{16}})|{_NAME}")


def group_card(
    group: Group,
    marks: Sequence[tuple[str, str]],
    action: str,
    key: str,
    scores: Mapping[str, GroupData],
    note: str = "",
) -> None:
    """A group as a card with (outcome, text) marks, and the button that opens it, such as `Open swap/test/0003`.

    scores : of one or several scorers by their names, shown where the group has no pictures; a single one unnamed. Of
    a single one a group with pictures has the matching.
    """
    if has_pictures(group):
        matched = next(iter(scores.values())) if len(scores) == 1 else None
        st.html(_pictured_card(group, marks, matched=matched))
    else:
        small = {name: data for name, data in scores.items() if data.scores.size <= _MOST_SCORES}
        st.html(_matrices(group, small) + file_card(group, marks))
    _open_button(group.id, action, key, note)


def group_row(group: Group, key: str, show: Callable[..., None], *args: object) -> None:
    """A group in a list for phones: its pictures small beside its captions; pressed it is shown, `show(*args)`."""
    st.html(_pictured_card(group, size=_IN_A_ROW))
    st.button(f"Show {escape_markdown(group_title(group.id))}", key=key, on_click=show, args=args)


def _pictured_card(
    group: Group,
    marks: Sequence[tuple[str, str]] = (),
    size: int = _ON_A_CARD,
    matched: GroupData | None = None,
) -> str:
    """A group's pictures with their captions and marks, as markup. matched : whose matching it shows."""
    truth = group.truth_pairs
    if st.session_state.get("predict"):  # else a student would read the answer
        truth, matched = [], None
    return group_html.card_html(image_tags(group, size=size), group.captions, list(marks), truth, matched)


def card_key(tied: bool = False) -> None:
    """What stands behind a caption of a `group_card` with pictures, in a line above cards; nothing where a student is
    to guess it. tied : whether some of them have a verdict that is a tie."""
    if not st.session_state.get("predict"):
        st.html(group_html._card_key(tied), width="content")


def strip(group: Group) -> str:
    """A group's pictures and captions, small and side by side, on phones alone: where numbers speak of image A and
    caption 1 and the pictures themselves are screens away. Markup, "" of a group without pictures."""
    return f'<div class="cm-strip">{_pictured_card(group)}</div>' if has_pictures(group) else ""


def group_under_several(group: Group, scores: Mapping[str, GroupData], metrics: Sequence[str]) -> None:
    """A group under several scorers by their names: its pictures and captions once, beside them the matrix of each with
    what the metrics say of it, so that they can be compared at a glance; on a phone one below the other."""
    if has_pictures(group):
        pictures, place = st.columns(2, gap="large")
        pictures.html(_pictured_card(group, size=_SHOWN))
    else:
        place = st.container()
        place.html(file_card(group))
    place.html(_matrices(group, scores, metrics))


def file_card(group: Group, marks: Sequence[tuple[str, str]] = ()) -> str:
    """What a file calls the images and captions of a group without pictures, where it does not only number them."""
    names = [
        (group_html.image_name(i), str(getattr(each, "label", ""))) for i, each in enumerate(group.images)
    ]
    own = [
        f"{letter}: {name}"
        for i, (letter, name) in enumerate(names)
        if name not in (f"image {letter}", str(i))
    ]
    texts = [f"caption {j + 1}" for j in range(len(group.captions))]
    only_numbers = list(group.captions) in (texts, [str(j) for j in range(len(texts))])
    shown = f"<small>{escape(' · '.join(own))}</small>" if own else ""
    return shown + group_html.card_html([], [] if only_numbers else group.captions, list(marks))


def _matrices(group: Group, scores: Mapping[str, GroupData], metrics: Sequence[str] = ()) -> str:
    """The score matrices of a group side by side. metrics : whose outcomes stand below each."""
    drawn = []
    for name, data in scores.items():
        head = f"<b>{escape(name)}</b>" if len(scores) > 1 else ""
        title = escape(f"Scores of {group.id} by {name}: images down, captions across")
        matrix = group_html.matrix_html(data.beside(scores.values(), exact=len(scores) == 1), title)
        marks = [(data.kinds[metric], METRICS[metric].label) for metric in metrics]
        said = group_html.card_html([], [], marks) if marks else ""
        lines = _lines(data) if metrics else ""
        drawn.append(f'<div>{head}<div class="cm-with-lines">{matrix}{lines}</div>{said}</div>')
    return f'<div class="cm-matrices">{"".join(drawn)}</div>'


def _lines(data: GroupData) -> str:
    """A group's matching as lines between letters and numbers, beside the matrix of one of several scorers: the
    pictures stand once for all of them. "" where the letters have no room."""
    m, k = data.scores.shape
    if data.scores.size > _MOST_SCORES:
        return ""
    return f'<div class="cm-letters">{group_html.matching_html([""] * m, [""] * k, data)}</div>'


def _open_button(group: str, action: str, key: str, note: str = "") -> None:
    """The one button of a card, a note below it, in galleries of any width. The style sheet stretches it: a click
    anywhere on the card is one on it."""
    with st.container(gap="xsmall"):
        label = f"{action} {escape_markdown(group_title(group))}"
        st.button(label, key=f"{key}-{group}", on_click=open_group, args=(group,))
        if note:
            st.caption(escape_markdown(note))


# --- the large image ---------------------------------------------------------------------------------------------

# The small image is shown at once, stretched; the large one replaces it when the server has sent it as `data`.
_SCRIPT = """
const views = new WeakMap();

const makeView = () => {
  const dialog = document.body.appendChild(document.createElement('dialog'));
  dialog.className = 'cm-large';
  const image = dialog.appendChild(document.createElement('img'));
  const text = dialog.appendChild(document.createElement('p'));
  // The other one of a pair, which stands beside it.
  const [second, secondText] = ['img', 'p'].map(name => document.createElement(name));
  const row = dialog.appendChild(document.createElement('div'));
  const [before, close, after] = ['\u2039', 'Close', '\u203a'].map(label => {
    const button = row.appendChild(document.createElement('button'));
    [button.type, button.textContent] = ['button', label];
    return button;
  });
  before.ariaLabel = 'Previous image';
  after.ariaLabel = 'Next image';
  const pair = row.insertBefore(document.createElement('button'), close);
  pair.type = 'button';
  pair.className = 'cm-pair';
  const view = {dialog, image, text, second, secondText, before, after, pair, ring: [], sources: {}, turn: () => {}};
  pair.addEventListener('click', event => {
    event.stopPropagation();
    view.wantsBoth = !view.wantsBoth;
    view.show();
  });
  const turn = (event, steps) => { event.stopPropagation(); event.preventDefault(); view.turn(steps); };
  before.addEventListener('click', event => turn(event, -1));
  after.addEventListener('click', event => turn(event, 1));
  dialog.addEventListener('keydown', event => {
    if (event.key === 'ArrowLeft') turn(event, -1);
    if (event.key === 'ArrowRight') turn(event, 1);
  });
  dialog.addEventListener('click', () => dialog.close());
  // A finger that goes to the side turns the picture, as the arrows do. The browser would go back a page for it, which
  // closes the picture: the style sheet and this keep it from that.
  let from = null;
  const first = event => event.changedTouches[0];
  dialog.addEventListener('touchstart', event => {
    from = event.touches.length === 1 ? [first(event).clientX, first(event).clientY] : null;
  }, {passive: true});
  dialog.addEventListener('touchmove', event => {
    if (!from || event.touches.length !== 1 || !event.cancelable) return;
    const [right, down] = [first(event).clientX - from[0], first(event).clientY - from[1]];
    if (Math.abs(right) > Math.abs(down)) event.preventDefault();
  }, {passive: false});
  dialog.addEventListener('touchcancel', () => { from = null; });
  dialog.addEventListener('touchend', event => {
    if (!from) return;
    const [right, down] = [first(event).clientX - from[0], first(event).clientY - from[1]];
    from = null;
    if (Math.abs(right) > 50 && Math.abs(right) > 2 * Math.abs(down)) turn(event, right < 0 ? 1 : -1);
  });
  // Back closes it, as a step of its own, of which Streamlit hears nothing.
  dialog.addEventListener('close', () => {
    if (!view.step) return;
    [view.step, view.silent] = [false, true];
    history.back();
  });
  view.back = event => {
    if (!view.silent && !dialog.open) return;
    event.stopImmediatePropagation();
    view.step = view.silent = false;
    if (dialog.open) dialog.close();
  };
  window.addEventListener('popstate', view.back, {capture: true});
  return view;
};

export default ({data, parentElement: host, setTriggerValue}) => {
  const view = views.get(host) ?? makeView();
  views.set(host, view);
  const draw = (button, image, text) => {
    const small = button.querySelector('img');
    image.src = view.sources[button.dataset.image] ?? small.src;
    [image.alt, text.textContent] = [small.alt, small.alt];
  };
  // The server sends one large image at a time.
  const ask = () => {
    const next = view.shown.map(button => button.dataset.image).find(key => !view.sources[key]);
    if (next) setTriggerValue('image', next);
  };
  const show = button => {
    const both = !!view.wantsBoth && view.ring.length === 2;
    view.shown = both ? view.ring : [button];
    view.dialog.classList.toggle('cm-both', both);
    for (const way of [view.before, view.after]) way.hidden = both || view.ring.length < 2;
    view.pair.hidden = view.ring.length !== 2;
    view.pair.textContent = both ? 'One at a time' : 'Side by side';
    draw(view.shown[0], view.image, view.text);
    for (const part of [view.second, view.secondText]) part.remove();
    if (both) {
      draw(view.shown[1], view.second, view.secondText);
      view.text.after(view.second, view.secondText);
    }
    view.show = () => show(button);
    view.turn = steps => {
      const place = view.ring.indexOf(button) + steps;
      if (!both && view.ring.length > 1) show(view.ring[(place + view.ring.length) % view.ring.length]);
    };
    ask();
  };
  const open = event => {
    const button = event.target.closest?.('.cm-zoom');
    if (!button) return;
    // Those that were drawn with it: of a group, of a list.
    view.ring = [...(button.closest('.stHtml') ?? button.parentElement).querySelectorAll('.cm-zoom')];
    view.sources = {};
    if (!view.dialog.isConnected) document.body.appendChild(view.dialog);
    view.dialog.showModal();
    view.step = !!window.crossmatchHistory;
    window.crossmatchHistory?.push({}, '', location.href);
    show(button);
  };
  if (view.dialog.open && data.source) {
    view.sources[data.image] = data.source;
    for (const [place, button] of view.shown.entries())
      if (button.dataset.image === data.image) [view.image, view.second][place].src = data.source;
    ask();
  }
  document.removeEventListener('click', view.open);
  view.open = open;
  document.addEventListener('click', open);
  return () => {
    document.removeEventListener('click', view.open);
    window.removeEventListener('popstate', view.back, {capture: true});
    view.dialog.remove();
    views.delete(host);
  };
};
"""
_component = st.components.v2.component("crossmatch_large_image", js=_SCRIPT, isolate_styles=False)


def forget_images() -> None:
    """At the start of a page: no image is drawn yet, and none is shown large."""
    st.session_state["drawn_images"] = {}
    st.session_state.pop("large_image", None)


@st.fragment
def enlarge_on_click() -> None:
    """Every `enlargeable_image` of the page opens large when it is clicked; the page is not run again for it."""
    key: str | None = st.session_state.get("large_image")
    image = st.session_state.get("drawn_images", {}).get(key)
    data = {"image": key, "source": None if key is None or image is None else _large_uri(key, image)}
    _component(key="large-image", data=data, on_image_change=_choose_large_image)


def _choose_large_image() -> None:
    st.session_state["large_image"] = st.session_state["large-image"].image
