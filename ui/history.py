"""The browser's back button: one step per page, per view of it, per group, run or lesson that was opened on it, and per
ticked run, cell of a matrix, or model and class of groups of a comparison, as of a query's ranked images.

Streamlit adds a step for every message about the address, also for those that it sends while a page is left or drawn,
where the next page's may come before the page's own path. The script makes one step of all that follows a click or a
key, however long it takes; a page that is left keeps the address that it had then, and comes back where it was scrolled
to.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# Query parameters whose change is a step of its own: what is opened on a page, and those of `ui.views`, another view.
STEPS = ("group", "run", "lesson")
_VIEWS = ("view", "paper", "way")
# What is chosen on a page, which stays where it is.
_CHOSEN = ("set", "runs", "pair", "other", "right", "side", "changed")
_SCRIPT = """
<script>
(() => {
  if (window.crossmatchHistory) return;
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  window.crossmatchHistory = {push};  // for a view that Back closes
  // Of the latest action: the address then, whether it made a step, and whether it opened another view.
  let before = location.href, pushed = false, viewed = false;
  let acted = false;  // what a page chooses, or takes out of its address, while it opens is no step
  // Where each address was scrolled to when something was last pressed there; and each page, while nothing was open.
  const places = new Map();
  const main = () => document.querySelector('[data-testid="stMain"]');
  const isOpen = url => STEPS.some(name => url.searchParams.has(name));
  const keep = () => {
    const url = new URL(location.href), top = main()?.scrollTop ?? 0;
    places.set(url.href, top);
    if (!isOpen(url)) places.set(url.pathname, top);
  };
  const begin = made => { before = location.href; pushed = made; viewed = false; };
  // A choice's step: what the same action has changed in the address before belongs to it, too.
  const choose = (state, title, url) => { replace(state, title, before); push(state, title, url); };
  for (const action of ["pointerdown", "click", "keydown", "input"])
    window.addEventListener(action, () => { keep(); begin(false); acted = true; }, {capture: true, passive: true});
  let touched = 0, shown = 0;
  for (const action of ["wheel", "touchmove", "pointerdown", "keydown"])
    window.addEventListener(action, () => { touched += 1; }, {capture: true, passive: true});
  // Scrolls again while the page is still drawn, and nobody has moved it: until what it looks for has been there at
  // thirty looks on end, which a busy machine's drawing comes between, as it would not if the clock counted. scroll :
  // whether it is there.
  const settle = scroll => {
    const turn = ++shown, before = touched;
    const until = Date.now() + 120000;
    let seen = 0;
    const look = () => {
      if (turn !== shown || touched !== before || Date.now() > until) return;
      seen = scroll() ? seen + 1 : 0;
      if (seen < 30) setTimeout(look, 100);
    };
    setTimeout(look, 0);
  };
  // A container `opened`, or `opened-NAME` where the address has the parameter NAME.
  const opened = () => [".st-key-opened", ...[...new URL(location.href).searchParams.keys()]
    .map(name => `.st-key-opened-${CSS.escape(name)}`)].map(each => document.querySelector(each)).find(Boolean);
  // What is opened is shown from its beginning, wherever on the page its button was.
  const show = () => {
    main()?.scrollTo(0, 0);
    settle(() => { const found = opened(); found?.scrollIntoView({block: "start"}); return found; });
  };
  // Back to what led here: where it was left, as soon as the page is that long again.
  const back = url => {
    const left = places.get(url.href) ?? (isOpen(url) ? undefined : places.get(url.pathname) ?? 0);
    const top = left < 64 ? 0 : left;  // else the title would stand half below the fixed header
    const scroll = () => { main()?.scrollTo(0, top); return Math.abs((main()?.scrollTop ?? 0) - top) < 2; };
    if (top !== undefined) settle(scroll);
  };
  // A link to a place on the page is a step of the browser's, too, which scrolls there before what is folded is opened.
  let jumped = 0;
  // What is folded there is opened: the fold that the place is in, or the one right behind it, or every one of the
  // lists right behind it that are closed below their counts.
  const unfold = name => {
    const place = name && document.getElementById(name);
    const fold = place?.closest("details")
      ?? place?.closest(".stElementContainer")?.nextElementSibling?.querySelector(":scope > .stExpander > details");
    if (fold && !fold.open) fold.querySelector("summary").click();
    place?.closest(".stElementContainer")?.nextElementSibling
      ?.querySelectorAll(".cm-fold:not([open])").forEach(each => { each.open = true; });
    return place;
  };
  // To it, also once what opens has its height.
  const jump = name => {
    let pressed = 0;
    settle(() => {
      const place = document.getElementById(name), fold = place?.closest("details");
      // A press on a fold that is still being drawn is lost on a busy machine, or the fold is drawn anew, and closed.
      if (place && Date.now() - pressed > 500) {
        unfold(name);
        pressed = Date.now();
      }
      place?.scrollIntoView({block: "start"});
      // What comes above it while the page is still drawn would push it away; a figure comes later than all else.
      return place && (!fold || fold.open) && !document.querySelector('[data-testid="stSkeleton"]')
        && document.querySelector('[data-test-script-state="notRunning"]');
    });
  };
  window.addEventListener("click", event => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link) return;
    jumped = Date.now();
    jump(link.hash.slice(1));
  }, true);
  // The next of cards that are higher than a phone's screen, by the button below them: from its beginning.
  window.addEventListener("click", event => {
    if (!event.target.closest?.('[class*="st-key-turn-"] button')) return;
    const cards = event.target.closest('[class*="st-key-turned-"]');
    const name = [...cards.classList].find(each => each.startsWith("st-key-turned-"));
    const found = () => document.querySelector(`.${name}`);
    settle(() => { found()?.scrollIntoView({block: "start"}); return found(); });
  }, true);
  window.addEventListener("popstate", () => {
    begin(true);
    if (Date.now() - jumped > 1000) back(new URL(location.href));
  });
  // What a button with a key `to-top-...` changes is the page's beginning.
  window.addEventListener("click", event => {
    if (event.target.closest?.('[class*="st-key-to-top-"] button')) show();
  }, true);
  // The menu's entry of the page that is open leads to its beginning, as a step back to that would: of a press on it
  // Streamlit draws the page again with what was open, or leaves that in the address, and the menu of a phone open.
  window.addEventListener("click", event => {
    const link = event.target.closest?.('a[data-testid="stPageLink-NavLink"]');
    const now = new URL(location.href);
    // Home's is empty, which alone would be the open page's own address.
    const start = link && new URL(link.getAttribute("href") || "./", now);
    if (start?.pathname !== now.pathname || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));  // by which the menu closes
    // What the page chose by itself is not in the menu's links, which are of all pages: without it there is no set, and
    // nothing to compare with.
    for (const name of ["set", "other"]) {
      const chosen = now.searchParams.get(name);
      if (chosen && !start.searchParams.has(name)) start.searchParams.set(name, chosen);
    }
    if (`${start.searchParams}` !== `${now.searchParams}`) push({}, "", start.href);
    window.dispatchEvent(new PopStateEvent("popstate"));
    show();
  }, true);
  history.pushState = (state, title, url) => {
    const now = new URL(location.href), next = new URL(url, now);
    if (next.pathname === now.pathname) {
      const changed = name => now.searchParams.get(name) !== next.searchParams.get(name);
      const view = VIEWS.some(changed), step = view || STEPS.some(changed);
      const chooses = acted && CHOSEN.some(changed);
      const made = step || chooses, add = made && !pushed;
      pushed ||= made;
      const stays = document.querySelector(".st-key-in-place");  // which shows what is chosen where it was chosen
      const pair = next.searchParams.get("pair");
      const details = () => document.querySelector(".st-key-pair-details");
      if (pair && pair !== now.searchParams.get("pair"))
        settle(() => { const found = details(); found?.scrollIntoView({block: "nearest"}); return found; });
      // What is shown where it was chosen comes into sight, with what it was chosen by, if none of it is.
      const chosen = () => [...document.querySelectorAll(
        ".st-key-alpha-strip img, .st-key-alpha-matrices table, .st-key-alpha-drawings img")]
        .filter(e => e.offsetParent);
      const seen = box => box.top > 60 && box.bottom <= innerHeight;
      if (step && isOpen(next) && stays) settle(() => {
        const boxes = chosen().map(e => e.getBoundingClientRect());
        if (!boxes.some(seen)) document.querySelector(".st-key-in-place")?.scrollIntoView({block: "start"});
        return boxes.length > 0;
      });
      // A lesson's feedback: of the part whose answer is another one now, `matrix-20` to `matrix-21`.
      const answers = url => url.searchParams.get("answers")?.split(".") ?? [];
      const given = answers(next).find(each => !answers(now).includes(each));
      if (given) {
        const before = answers(now).find(each => each.startsWith(given.slice(0, -2))) ?? "00";
        const part = given.at(-2) === before.at(-2) ? 1 : 0;
        const feedback = () => document.querySelector(`.st-key-feedback-${part}`);
        settle(() => { const found = feedback(); found?.scrollIntoView({block: "nearest"}); return found; });
      }
      viewed ||= view;
      if (view || (step && isOpen(next) && !stays)) show();
      // Another view takes what was open out of the address in a message of its own: it begins at its beginning.
      else if (step && !isOpen(next) && !viewed) back(next);
      return (add ? (step ? push : choose) : replace)(state, title, url);
    }
    if (!pushed) replace(state, title, before);  // else that step led away
    (pushed ? replace : push)(state, title, url);
    show();  // from its beginning: else a page opens where the last one stood
    begin(true);
  };
  // A field writes its own choice so: the chosen one is a step, as where the page writes it.
  history.replaceState = (state, title, url) => {
    const now = new URL(location.href), next = new URL(url ?? now, now);
    const made = next.pathname === now.pathname
      && CHOSEN.some(name => now.searchParams.get(name) !== next.searchParams.get(name));
    const add = made && acted && !pushed;
    pushed ||= made;
    return (add ? choose : replace)(state, title, url);
  };
  if (location.hash) jump(location.hash.slice(1));  // a place that comes later than the address
  else show();
})();
</script>
"""


def script() -> str:
    """The script as HTML."""
    return (
        _SCRIPT.replace("STEPS", str(list(STEPS)))
        .replace("VIEWS", str(list(_VIEWS)))
        .replace("CHOSEN", str([*_CHOSEN]))
    )


def tidy_history() -> None:
    """Install the script, once in every browser tab."""
    st.html(script(), unsafe_allow_javascript=True)


def page_is_drawn_again() -> bool:
    """Whether this page is the one that was drawn before it in this session; asked before `remember_page`."""
    context = get_script_run_ctx()
    return context is not None and st.session_state.get("drawn_page") == context.page_script_hash


def remember_page() -> None:
    """This page is drawn now."""
    context = get_script_run_ctx()
    st.session_state["drawn_page"] = None if context is None else context.page_script_hash
