/* Draws every figure[data-plot] from the JSON beside it. The same numbers stand in a table below each picture. */
(() => {
  "use strict";
  const { Plot } = window;
  if (!Plot) return;
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const whole = (count) => (Number.isInteger(count) ? count.toLocaleString("en") : "");
  const axis = { label: null, tickFormat: percent, grid: true };
  /* Colours by class, from the page's own tokens: dark, print and greyscale follow by themselves. */
  const limitLine = (x, value) => Plot[x ? "ruleX" : "ruleY"]([value], { className: "plot-limit", strokeDasharray: "4 3" });
  const base = { marginTop: 8, marginRight: 24, style: null, className: "plot-svg" };

  const kinds = {
    intervals: (data, width) => Plot.plot({
      ...base, width, height: 36 * data.rows.length + 40, marginLeft: 96,
      x: { ...axis, domain: [0, Math.min(1, Math.max(data.limit * 1.2, ...data.rows.map((row) => row.high)))] },
      y: { label: null, domain: data.rows.map((row) => row.name) },
      marks: [
        limitLine(true, data.limit),
        Plot.ruleY(data.rows, { y: "name", x1: "low", x2: "high", className: "plot-interval", strokeWidth: 2, insetLeft: 0 }),
        Plot.tickX(data.rows, { y: "name", x: "low", className: "plot-interval", inset: 8 }),
        Plot.tickX(data.rows, { y: "name", x: "high", className: "plot-interval", inset: 8 }),
        Plot.dot(data.rows.filter((row) => row.point !== null), { y: "name", x: "point", r: 4.5, className: "plot-point" }),
      ],
    }),
    live: (data, width) => Plot.plot({
      ...base, width, height: 240, marginLeft: 48,
      x: { label: "grades of the base sample", tickFormat: whole, domain: [0, data.rows.at(-1).n] }, y: { ...axis, domain: [0, Math.min(1, Math.max(data.limit * 1.5, ...data.rows.slice(Math.floor(data.rows.length / 6)).map((row) => row.high)))], clamp: true },
      marks: [
        Plot.areaY(data.rows, { x: "n", y1: "low", y2: "high", className: "plot-area" }),
        Plot.lineY(data.rows, { x: "n", y: "low", className: "plot-interval" }),
        Plot.lineY(data.rows, { x: "n", y: "high", className: "plot-interval" }),
        Plot.lineY(data.rows, { x: "n", y: "point", className: "plot-middle", strokeDasharray: "2 2" }),
        limitLine(false, data.limit),
      ],
    }),
    counter: (data, width) => Plot.plot({
      ...base, width, height: 200, marginLeft: 40,
      x: { label: "counted", tickFormat: whole, domain: [0, data.rows.at(-1).n] }, y: { label: null, grid: true, domain: [0, Math.max(data.limit * 1.15, ...data.rows.map((row) => row.excess))] },
      marks: [
        Plot.lineY(data.rows, { x: "n", y: "excess", curve: "step-after", className: "plot-interval" }),
        limitLine(false, data.limit),
      ],
    }),
    funnel: (data, width) => Plot.plot({
      ...base, width, height: 30 * data.rows.length + 30, marginLeft: 170, marginRight: 56,
      x: { label: null, grid: true, tickFormat: whole, ticks: 4 }, y: { label: null, domain: data.rows.map((row) => row.name) },
      marks: [
        Plot.barX(data.rows, { y: "name", x: "count", className: "plot-bar" }),
        Plot.text(data.rows, { y: "name", x: "count", text: (row) => row.count.toLocaleString("en"), dx: 6, textAnchor: "start", className: "plot-text" }),
      ],
    }),
  };

  const draw = (figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const place = figure.querySelector("[data-drawn]");
    const width = Math.max(280, Math.floor(place.getBoundingClientRect().width));
    if (place.dataset.width === String(width)) return;
    place.dataset.width = String(width);
    const svg = kinds[data.kind](data, width);
    /* Plot brings its own style element, which the page's policy refuses: the rules are in static/css/insights.css. */
    svg.querySelectorAll("style").forEach((style) => style.remove());
    /* The picture has one name, its title; what names its parts would only be read on top of that. */
    svg.querySelectorAll("[aria-label], [aria-description]").forEach((part) => {
      if (part.getAttribute("aria-label")?.endsWith("grid")) part.classList.add("plot-grid");
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    });
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${data.title}. ${data.summary}`);
    place.replaceChildren(svg);
  };

  const all = () => document.querySelectorAll("figure[data-plot]");
  all().forEach(draw);
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => all().forEach(draw), 150);
  });
  document.addEventListener("htmx:load", (event) => event.target.querySelectorAll?.("figure[data-plot]").forEach(draw));
})();
