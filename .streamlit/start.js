// Runs before the app does, in every document.
(() => {
  // What a page adds to its own address before ui/history.py is there is no step: Back led to the address without it.
  const push = history.pushState.bind(history);
  history.pushState = (state, title, url) => {
    const stays = new URL(url ?? "", location.href).pathname === location.pathname;
    if (stays && !window.crossmatchHistory) history.replaceState(state, title, url);
    else push(state, title, url);
  };
  // On a phone the panel of the selection covers the page, or half of it where the phone lies on its side: a page opens with it
  // closed, however the last one was left. A small window of a laptop has a mouse.
  const phone = matchMedia("(max-width: 768px), (max-height: 500px) and (pointer: coarse)");
  const stored = Storage.prototype.getItem;
  Storage.prototype.getItem = function (key) {
    return String(key).startsWith("stSidebarCollapsed-") && phone.matches ? "true" : stored.call(this, key);
  };
  // Some parts of a page are others in a narrow window, of which the server knows nothing: it is told before the app
  // connects (`ui/visitor.py`).
  const narrow = matchMedia("(max-width: 640px)");
  const tellWidth = () => { document.cookie = `crossmatch_narrow=${Number(narrow.matches)}; path=/; SameSite=Lax`; };
  narrow.addEventListener("change", tellWidth);
  tellWidth();
  // A name that its field or its line in a list cuts short is whole in a tooltip.
  const name = event => {
    const place = event.target.closest?.('.react-aria-ComboBox, [role="option"]');
    const text = place?.querySelector("input, [data-item-hl]");
    if (text) text.title = text.scrollWidth > text.clientWidth ? text.value ?? text.textContent : "";
  };
  // Enter on a name that a list has not closed the list with its "No results": a pasted name stood there as if it were taken.
  window.addEventListener("keydown", event => {
    const list = event.key === "Enter" && document.getElementById(event.target.getAttribute?.("aria-controls"));
    if (list && list.dataset.empty) event.stopPropagation();
  }, {capture: true});
  // Enter on words that stood in their field already takes nothing from the list, whose first line replaced a query of one's
  // own; an arrow chooses from it.
  let stood = "", arrowed = false;
  const isOpen = field => field.getAttribute("aria-expanded") === "true";
  const begun = event => {
    const field = event.target.closest?.('.react-aria-ComboBox')?.querySelector("input") ?? event.target;
    if (field.getAttribute?.("role") === "combobox" && !isOpen(field)) [stood, arrowed] = [field.value, false];
  };
  for (const when of ["pointerdown", "focusin", "keydown"]) window.addEventListener(when, begun, {capture: true, passive: true});
  window.addEventListener("keydown", event => {
    const field = event.target;
    if (field.getAttribute?.("role") !== "combobox") return;
    if (event.key !== "Enter") arrowed = event.key.startsWith("Arrow") || event.key.startsWith("Page");
    else if (isOpen(field) && field.value && field.value === stood && !arrowed) {
      event.stopPropagation();
      event.preventDefault();
      field.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true, cancelable: true}));  // closes the list
    }
  }, {capture: true});
  // A tap beside an open panel closes it, and nothing else: it opened the card below it, too. A mouse points at what it
  // clicks: its click opens the card.
  let beside = false;
  window.addEventListener("pointerdown", event => {
    beside = event.pointerType !== "mouse" && !!document.querySelector('[data-testid="stPopoverBody"]') && !!event.target.closest?.('[data-testid="stGridCell"]');
  }, {capture: true, passive: true});
  window.addEventListener("click", event => {
    const card = beside && event.target.closest?.('[data-testid="stGridCell"]');
    beside = false;
    if (!card) return;
    event.stopPropagation();
    event.preventDefault();
    document.body.dispatchEvent(new MouseEvent("click", {bubbles: true}));  // by which the panel closes
  }, {capture: true});
  // A label belongs to the first control inside it, which is its “?”: a press on its words opened the help, over whatever
  // stands above. It goes to the field.
  window.addEventListener("click", event => {
    const label = event.target.closest?.('label[data-testid="stWidgetLabel"]');
    if (!label?.control?.matches('button[aria-label^="Help"]') || event.target.closest("button, a")) return;
    event.preventDefault();
    const field = 'input, textarea, [role="slider"], [role="radio"][aria-checked="true"], button';
    [...label.parentElement.querySelectorAll(field)].find(each => !label.contains(each))?.focus();
  }, {capture: true});
  // A finger that scrolls the page changes nothing: what begins on a slider moves it once it goes sideways, a tap moves it as a
  // mouse does; a table opens a row on a tap alone. Both took the first touch, or the last one, of a swipe.
  const far = (from, to) => Math.hypot(to.clientX - from.clientX, to.clientY - from.clientY) > 8;
  let finger = null;
  window.addEventListener("pointerdown", event => {
    finger = event.pointerType === "touch" && event.isTrusted ? {down: event, place: event.target, moved: false} : null;
    if (finger && event.target.closest?.('[data-testid="stSlider"] [style*="touch-action"]')) {
      finger.slider = true;
      event.stopPropagation();
    }
  }, {capture: true});
  window.addEventListener("touchstart", event => {
    if (event.target.closest?.('[data-testid="stSlider"] [style*="touch-action"]')) event.stopPropagation();
  }, {capture: true, passive: true});
  window.addEventListener("pointermove", event => {
    if (!finger || finger.moved || !far(finger.down, event)) return;
    finger.moved = true;
    if (!finger.slider || Math.abs(event.clientX - finger.down.clientX) < Math.abs(event.clientY - finger.down.clientY)) return;
    const {pointerId, pointerType, isPrimary, clientX, clientY, screenX, screenY} = finger.down;
    finger.place.dispatchEvent(new PointerEvent("pointerdown", {pointerId, pointerType, isPrimary, clientX, clientY, screenX, screenY,
      bubbles: true, composed: true, cancelable: true, button: 0, buttons: 1}));
  }, {capture: true, passive: true});
  window.addEventListener("pointercancel", () => { if (finger) finger.moved = true; }, {capture: true, passive: true});  // it scrolls
  for (const when of ["pointerup", "touchend", "mouseup", "click"])
    window.addEventListener(when, event => {
      if (finger?.moved && event.target.closest?.('[data-testid="stDataFrame"]')) event.stopImmediatePropagation();
    }, {capture: true, passive: true});
  // On a phone a line above a table says that it goes on: not of one that is no wider than its frame.
  const hints = () => {
    for (const hint of document.querySelectorAll(".cm-swipe")) {
      const table = hint.closest(".stElementContainer")?.nextElementSibling?.querySelector(".dvn-scroller");
      const fits = !!table && table.clientWidth > 0 && table.scrollWidth <= table.clientWidth + 1;
      if (hint.classList.contains("cm-fits-in") !== fits) hint.classList.toggle("cm-fits-in", fits);
    }
  };
  let hinted = 0;
  const hintSoon = () => {
    if (narrow.matches && !hinted) hinted = setTimeout(() => { hinted = 0; hints(); }, 400);
  };
  addEventListener("resize", hintSoon);
  document.addEventListener("DOMContentLoaded", () => new MutationObserver(hintSoon).observe(document.body, {childList: true, subtree: true}));
  // What opens above a page, its panels and lists, hangs beside the app in the document: light-dark() of the style asks the
  // document there, and fields of a dark page were white in it.
  const scheme = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    if (app) document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
  };
  for (const when of ["pointerdown", "click", "keydown"])
    document.addEventListener(when, () => { scheme(); setTimeout(scheme, 300); }, {capture: true, passive: true});
  for (const when of ["pointerover", "focusin"]) document.addEventListener(when, name, {passive: true});
})();
