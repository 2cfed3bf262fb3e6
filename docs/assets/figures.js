// Plotly's figures, drawn in the page's colours, and again when those change.
(() => {
  const draw = (place) => {
    const figure = JSON.parse(place.querySelector("script").textContent);
    const ink = getComputedStyle(document.body).color;
    const grid = "rgba(134,140,155,.3)";
    const layout = {
      ...figure.layout,
      template: undefined,
      font: { color: ink, family: "system-ui, sans-serif", size: 13 },
    };
    for (const axis of Object.keys(layout).filter((name) => /^[xy]axis/.test(name)))
      layout[axis] = { ...layout[axis], gridcolor: grid, linecolor: grid };
    let canvas = place.querySelector("div");
    if (!canvas) canvas = place.appendChild(document.createElement("div"));
    Plotly.react(canvas, figure.data, layout, { displayModeBar: false, responsive: true });
  };
  const all = () => document.querySelectorAll(".cm-plotly").forEach(draw);
  document.addEventListener("DOMContentLoaded", all);
  new MutationObserver(all).observe(document.documentElement, { attributes: true, subtree: true, attributeFilter: ["data-md-color-scheme"] });
})();
