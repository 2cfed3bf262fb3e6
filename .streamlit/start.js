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
  // A name that its field or its line in a list cuts short is whole in a tooltip.
  const name = event => {
    const place = event.target.closest?.('.react-aria-ComboBox, [role="option"]');
    const text = place?.querySelector("input, [data-item-hl]");
    if (text) text.title = text.scrollWidth > text.clientWidth ? text.value ?? text.textContent : "";
  };
  // A tap beside an open panel closes it, and nothing else: it opened the card below it, too.
  let beside = false;
  window.addEventListener("pointerdown", event => {
    beside = !!document.querySelector('[data-testid="stPopoverBody"]') && !!event.target.closest?.('[data-testid="stGridCell"]');
  }, {capture: true, passive: true});
  window.addEventListener("click", event => {
    const card = beside && event.target.closest?.('[data-testid="stGridCell"]');
    beside = false;
    if (!card) return;
    event.stopPropagation();
    event.preventDefault();
    document.body.dispatchEvent(new MouseEvent("click", {bubbles: true}));  // by which the panel closes
  }, {capture: true});
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
