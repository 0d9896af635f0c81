// Lines over the last minutes, drawn as SVG: several series, a scale, and values where the pointer is.

import { h, put, s, say } from "../dom.js";
import { time } from "../format.js";

const HEIGHT = 150;
const LEFT = 46;
const BOTTOM = 18;
const TOP = 8;

/** A round number not below ``value``: 1, 2 or 5 times a power of ten. */
export function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((each) => each >= value);
}

/**
 * ``lines``: [{name, series, color}], all over the same seconds; ``format`` writes a value. ``draw()`` draws anew.
 */
export function chart(label, lines, { format, seconds = 300, height = HEIGHT, area = true }) {
  const svg = s("svg", { class: "chart", role: "img", height });
  const values = lines.map(() => h("b"));
  const legend = h("ul", { class: "legend" }, lines.map((line, index) =>
    h("li", null, h("i", { style: { background: line.color } }), line.name, values[index])));
  const tip = h("div", { class: "chart-tip hidden", "aria-hidden": true });
  const box = h("div", { class: "chart-box" }, svg, tip);
  const element = h("figure", { class: "chart-figure" }, legend, box);
  let hovered = null;

  const width = () => Math.max(220, box.clientWidth || 560);
  const inner = height - BOTTOM - TOP;

  function draw() {
    const w = width();
    const now = Math.max(0, ...lines.map((line) => line.series.points.at(-1)?.[0] ?? 0)) || Date.now();
    const top = niceCeiling(Math.max(...lines.map((line) => line.series.highest)) * 1.05);
    const x = (at) => LEFT + (1 - (now - at) / (seconds * 1000)) * (w - LEFT - 4);
    const y = (value) => TOP + (1 - value / top) * inner;
    svg.setAttribute("viewBox", `0 0 ${w} ${height}`);
    svg.setAttribute("aria-label", `${label}, the last ${seconds / 60} minutes: ${lines.map((line) => `${line.name} ${format(line.series.last)} now, ${format(line.series.highest)} at most`).join("; ")}`);
    const grid = [0, 0.5, 1].map((share) => s("g", null,
      s("line", { class: "grid-line", x1: LEFT, x2: w - 4, y1: y(top * share), y2: y(top * share) }),
      s("text", { class: "axis", x: LEFT - 6, y: y(top * share) + 3.5, "text-anchor": "end" }, format(top * share))));
    const steps = w < 420 ? [seconds, seconds / 2] : [seconds, seconds * 0.8, seconds * 0.6, seconds * 0.4, seconds * 0.2];
    const times = [...steps, 0].map((before) => s("text", { class: "axis", x: x(now - before * 1000), y: height - 4, "text-anchor": before === 0 ? "end" : before === seconds ? "start" : "middle" }, before === 0 ? "now" : `−${before / 60} min`));
    const paths = lines.flatMap((line) => {
      const points = line.series.points.filter(([at]) => at >= now - seconds * 1000);
      if (!points.length) return [];
      const path = points.map(([at, value], index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
      const close = `${path}L${x(points.at(-1)[0]).toFixed(1)} ${y(0)}L${x(points[0][0]).toFixed(1)} ${y(0)}Z`;
      return [
        area && s("path", { class: "area", d: close, fill: line.color }),
        s("path", { class: "line", d: path, stroke: line.color }),
      ].filter(Boolean);
    });
    put(svg, grid, times, paths, hovered === null ? [] : marks(x, y, now, w));
    lines.forEach((line, index) => say(values[index], format(line.series.last)));
  }

  function marks(x, y, now, w) {
    const at = now - (1 - (hovered - LEFT) / (w - LEFT - 4)) * seconds * 1000;
    const nearest = lines.map((line) => line.series.points.reduce((best, point) => (!best || Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best), null));
    const first = nearest.find(Boolean);
    if (!first) { tip.classList.add("hidden"); return []; }
    const left = x(first[0]);
    put(tip, h("b", null, time(first[0])), lines.map((line, index) => h("div", null, h("i", { style: { background: line.color } }), `${line.name} `, h("span", { class: "number" }, nearest[index] ? format(nearest[index][1]) : "–"))));
    tip.classList.remove("hidden");
    tip.style.left = `${Math.min(left + 12, w - 150)}px`;
    return [
      s("line", { class: "cursor", x1: left, x2: left, y1: TOP, y2: TOP + inner }),
      ...lines.map((line, index) => nearest[index] && s("circle", { cx: x(nearest[index][0]), cy: y(nearest[index][1]), r: 3, fill: line.color })).filter(Boolean),
    ];
  }

  svg.addEventListener("pointermove", (event) => { hovered = Math.max(LEFT, event.offsetX); draw(); });
  svg.addEventListener("pointerleave", () => { hovered = null; tip.classList.add("hidden"); draw(); });
  const resize = new ResizeObserver(() => draw());
  resize.observe(box);
  draw();
  return { element, draw };
}

/** A share of a whole, as a bar with its text beside it. */
export function bar(share, text, tone = "") {
  const percent = Math.max(0, Math.min(1, share)) * 100;
  return h("span", { class: "bar-box" }, h("span", { class: `bar ${tone}`, "aria-hidden": true }, h("i", { style: { width: `${percent}%` } })), h("span", { class: "number" }, text));
}
