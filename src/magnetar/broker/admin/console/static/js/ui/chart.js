// Lines over the last minutes, drawn as SVG: several series, a scale, and values where the pointer is.

import { h, put, s, say } from "../dom.js";
import { time } from "../format.js";

const HEIGHT = 150;
const LEFT = 46;
const BOTTOM = 18;
const TOP = 8;

const WINDOWS_S = [60, 120, 300];
const GAP_MS = 8_000;

/** A round number not below ``value``, whose half is round, too: 2, 4 or 10 times a power of ten; of bytes, a power of two. */
function niceCeiling(value, binary) {
  if (!(value > 2)) return 2;
  if (binary) return 2 ** Math.ceil(Math.log2(value));
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 10].map((step) => step * power).find((each) => each >= value);
}

/** A path through points, which begins anew where nothing was seen for a while. */
function pathOf(points, x, y) {
  return points.map(([at, value], index) => `${index && at - points[index - 1][0] < GAP_MS ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

/** The areas under a path, piece by piece. */
function areaOf(points, x, y) {
  const pieces = [];
  points.forEach((point, index) => {
    if (!index || point[0] - points[index - 1][0] >= GAP_MS) pieces.push([]);
    pieces.at(-1).push(point);
  });
  return pieces.map((piece) => `${pathOf(piece, x, y)}L${x(piece.at(-1)[0]).toFixed(1)} ${y(0)}L${x(piece[0][0]).toFixed(1)} ${y(0)}Z`).join("");
}

/**
 * ``lines``: [{name, series, color}]; ``format`` writes a value, which ``binary`` ones are counted in KiB. ``draw()`` draws
 * anew: the last minute at first, and up to five when they are known.
 */
export function chart(label, lines, { format, height = HEIGHT, binary = false }) {
  const svg = s("svg", { class: "chart", role: "img", height });
  const values = lines.map(() => h("b"));
  const legend = h("ul", { class: "legend" }, lines.map((line, index) =>
    h("li", null, h("i", { style: { background: line.color } }), line.name, values[index])));
  const tip = h("div", { class: "chart-tip hidden", "aria-hidden": true });
  const box = h("div", { class: "chart-box" }, svg, tip);
  const element = h("figure", { class: "chart-figure" }, legend, box);
  let hovered = null;
  let seconds = WINDOWS_S[0];

  const width = () => Math.max(220, box.clientWidth || 560);
  const inner = height - BOTTOM - TOP;

  function draw() {
    const w = width();
    const now = Math.max(0, ...lines.map((line) => line.series.points.at(-1)?.[0] ?? 0)) || Date.now();
    const oldest = Math.min(now, ...lines.map((line) => line.series.points[0]?.[0] ?? now));
    seconds = WINDOWS_S.find((each) => now - oldest <= each * 1000) ?? WINDOWS_S.at(-1);
    const top = niceCeiling(Math.max(...lines.map((line) => line.series.highest)) * 1.05, binary);
    const x = (at) => LEFT + (1 - (now - at) / (seconds * 1000)) * (w - LEFT - 4);
    const y = (value) => TOP + (1 - value / top) * inner;
    svg.setAttribute("viewBox", `0 0 ${w} ${height}`);
    svg.setAttribute("aria-label", `${label}, the last ${seconds} seconds: ${lines.map((line) => `${line.name} ${format(line.series.last)} now, ${format(line.series.highest)} at most`).join("; ")}`);
    const grid = [0, 0.5, 1].map((share) => s("g", null,
      s("line", { class: "grid-line", x1: LEFT, x2: w - 4, y1: y(top * share), y2: y(top * share) }),
      s("text", { class: "axis", x: LEFT - 6, y: y(top * share) + 3.5, "text-anchor": "end" }, format(top * share))));
    const parts = w < 420 ? 2 : { 60: 4, 120: 4, 300: 5 }[seconds];
    const steps = Array.from({ length: parts }, (_, index) => seconds * (1 - index / parts));
    const times = [...steps, 0].map((before) => s("text", { class: "axis", x: x(now - before * 1000), y: height - 4, "text-anchor": before === 0 ? "end" : before === seconds ? "start" : "middle" }, before === 0 ? "now" : before % 60 ? `−${before} s` : `−${before / 60} min`));
    const paths = lines.flatMap((line) => {
      const points = line.series.points.filter(([at]) => at >= now - seconds * 1000);
      if (!points.length) return [];
      return [
        s("path", { class: "area", d: areaOf(points, x, y), fill: line.color }),
        s("path", { class: "line", d: pathOf(points, x, y), stroke: line.color }),
      ];
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
