// Clusters and the ways between them, drawn as a map: who sends to whom, and how each way is.

import { put, s } from "../dom.js";

const [WIDTH, NODE_W, NODE_H] = [760, 132, 44];
const BEND = 26;  // How far the two ways of a pair are from the line between them.
const SAID_AT = 0.36;  // So far along a way its label is: nearer to who sends.
const heightOf = (count) => (count > 2 ? 320 : 150);

/** Where clusters stand: on an ellipse, two of them side by side. */
function placed(names) {
  return new Map(names.map((name, index) => {
    const turn = Math.PI + (index / names.length) * 2 * Math.PI;
    return [name, [WIDTH / 2 + Math.cos(turn) * 270, heightOf(names.length) / 2 + Math.sin(turn) * 120]];
  }));
}

/** The way between two places: bent to its right, from the edge of one box to that of the other. */
function bent([x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const middle = [(x1 + x2) / 2 + dy * BEND * 2, (y1 + y2) / 2 - dx * BEND * 2];
  const edge = ([x, y]) => {
    const [ax, ay] = [middle[0] - x, middle[1] - y];
    const share = Math.min((NODE_W / 2 + 7) / Math.abs(ax || 1e-9), (NODE_H / 2 + 7) / Math.abs(ay || 1e-9));
    return [x + ax * share, y + ay * share];
  };
  const [from, to] = [edge([x1, y1]), edge([x2, y2])];
  const [a, b, c] = [(1 - SAID_AT) ** 2, 2 * SAID_AT * (1 - SAID_AT), SAID_AT ** 2];
  const at = (index) => a * from[index] + b * middle[index] + c * to[index];
  const text = (point) => point.map((each) => each.toFixed(1)).join(" ");
  return { line: `M${text(from)}Q${text(middle)} ${text(to)}`, label: [at(0) + dy * 8, at(1) - dx * 8], dx, dy };
}

/** ``update`` takes names, which of them this is, and ways: [{from, to, tone, label, under, said}]. */
export function clusterMap() {
  const svg = s("svg", { class: "map", role: "img" });

  function update(names, here, ways) {
    const places = placed(names);
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${heightOf(names.length)}`);
    const tones = ["good", "warn", "bad", "idle"];
    put(svg,
      s("defs", null, tones.map((tone) => s("marker", { id: `head-${tone}`, class: tone, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { d: "M0 0L8 4L0 8z" })))),
      ways.filter((way) => places.has(way.from) && places.has(way.to)).map((way) => {
        const { line, label, dx, dy } = bent(places.get(way.from), places.get(way.to));
        const anchor = Math.abs(dy) < 0.4 ? "middle" : dy > 0 ? "start" : "end";
        const lift = Math.abs(dy) < 0.4 ? (dx > 0 ? -16 : 8) : 0;
        return s("g", { class: `way ${way.tone}` },
          s("path", { d: line, "marker-end": `url(#head-${way.tone})` }),
          s("text", { x: label[0].toFixed(1), y: (label[1] + lift).toFixed(1), "text-anchor": anchor }, way.label),
          s("text", { class: "under", x: label[0].toFixed(1), y: (label[1] + lift + 13).toFixed(1), "text-anchor": anchor }, way.under),
          s("title", null, way.said));
      }),
      names.map((name) => {
        const [x, y] = places.get(name);
        return s("g", { class: name === here ? "node here" : "node" },
          s("rect", { x: x - NODE_W / 2, y: y - NODE_H / 2, width: NODE_W, height: NODE_H, rx: 8 }),
          s("text", { x, y: name === here ? y - 1 : y + 4, "text-anchor": "middle" }, name.length > 18 ? `${name.slice(0, 17)}…` : name),
          name === here && s("text", { class: "under", x, y: y + 13, "text-anchor": "middle" }, "this cluster"),
          s("title", null, name));
      }));
    svg.setAttribute("aria-label", `Who sends to whom: ${ways.map((way) => way.said).join("; ") || "nobody to anybody"}`);
  }
  return { element: svg, update };
}
