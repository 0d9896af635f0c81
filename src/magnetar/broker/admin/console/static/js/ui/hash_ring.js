// Which consumer of a Key_Shared subscription has which hashes of keys, drawn as a ring.

import { h, put, s } from "../dom.js";
import { count } from "../format.js";
import { table } from "./table.js";

const SLOTS = 65_536;
const COLORS = Array.from({ length: 8 }, (_, index) => `var(--series-${index + 1})`);

const colorOf = (index) => COLORS[index % COLORS.length];

function arc(first, last, outer, inner) {
  const angle = (slot) => (slot / SLOTS) * 2 * Math.PI - Math.PI / 2;
  const [a, b] = [angle(first), angle(Math.min(last, first + SLOTS - 0.5))];
  const at = (radius, turn) => `${(100 + radius * Math.cos(turn)).toFixed(2)} ${(100 + radius * Math.sin(turn)).toFixed(2)}`;
  const large = b - a > Math.PI ? 1 : 0;
  return `M${at(outer, a)}A${outer} ${outer} 0 ${large} 1 ${at(outer, b)}L${at(inner, b)}A${inner} ${inner} 0 ${large} 0 ${at(inner, a)}Z`;
}

/** ``update`` takes the consumers, as stats have them, with ``keyHashRangeArrays``. */
export function hashRing() {
  const svg = s("svg", { viewBox: "0 0 200 200", role: "img" });
  const list = table("Hashes of consumers", {
    within: true,
    key: (row) => row.name,
    columns: [
      { id: "name", label: "Consumer", className: "name", cell: (row) => [h("i", { style: { display: "inline-block", width: "9px", height: "9px", "margin-right": "8px", "border-radius": "2px", background: row.color } }), row.name] },
      { id: "share", label: "Share of keys", right: true, cell: (row) => `${(row.share * 100).toFixed(1)} %` },
      { id: "ranges", label: "Ranges", right: true, cell: (row) => count(row.ranges.length) },
      { id: "draining", label: "Draining", right: true, cell: (row) => count(row.draining) },
    ],
  });
  const element = h("div", { class: "ring" }, svg, h("div", null, list.element));

  function update(consumers) {
    const rows = consumers.map((each, index) => {
      const ranges = each.keyHashRangeArrays ?? [];
      const slots = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
      return { name: each.consumerName, color: colorOf(index), ranges, share: slots / SLOTS, draining: each.drainingHashesCount ?? 0 };
    });
    put(svg,
      s("circle", { cx: 100, cy: 100, r: 80, fill: "none", stroke: "var(--line)", "stroke-width": 28 }),
      rows.flatMap((row) => row.ranges.map(([first, last]) => s("path", { d: arc(first, last + 1, 94, 66), fill: row.color }, s("title", null, `${row.name}: hashes ${first} to ${last}`)))),
      s("text", { x: 100, y: 100 }, String(rows.length)),
      s("text", { class: "under", x: 100, y: 115 }, rows.length === 1 ? "consumer" : "consumers"));
    svg.setAttribute("aria-label", `Hashes of keys: ${rows.map((row) => `${row.name} has ${(row.share * 100).toFixed(0)} %`).join(", ") || "nobody has any"}`);
    list.update(rows);
  }
  return { element, update };
}
