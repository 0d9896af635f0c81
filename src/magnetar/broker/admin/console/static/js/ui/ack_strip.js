// What is acknowledged of a log, drawn: the mark, holes before acknowledged ranges, and what was not read yet.

import { h, put, s } from "../dom.js";
import { count, plural } from "../format.js";

const WIDTH = 1000;
const HEIGHT = 40;
const SHOWN_MIN = 100;

/** ``mark``, ``read`` and ``length`` are indexes into the log, ``ranges`` [first, beyond] of them. */
export function ackStrip() {
  const svg = s("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  const said = h("p", { class: "help" });
  const legend = h("ul", { class: "legend" }, [["acknowledged", "var(--acked)"], ["delivered or due, not acknowledged", "var(--open)"], ["not read yet", "var(--line-strong)"]].map(([text, color]) => h("li", null, h("i", { style: { background: color } }), text)));
  const element = h("div", { class: "body" }, legend, svg, said);

  function update({ mark, read, length, ranges, position }) {
    // What was acknowledged long ago says nothing: as much of it is shown as there is beyond.
    const beyond = length - mark;
    const from = Math.max(0, mark - Math.max(Math.ceil(beyond * 0.25), SHOWN_MIN - beyond));
    const span = Math.max(1, length - from);
    const x = (index) => ((index - from) / span) * WIDTH;
    const block = (kind, first, last, text, least = 1.5) => last > first && s("rect", { class: kind, x: x(first), y: 6, width: Math.max(least, x(last) - x(first)), height: HEIGHT - 12 }, s("title", null, text));
    const acked = ranges.reduce((sum, [first, last]) => sum + last - first, 0);
    put(svg,
      block("done", from, mark, `Acknowledged: everything up to ${position(mark - 1)}`),
      block("ahead", Math.max(mark, read), length, `Not read yet: ${plural(length - Math.max(mark, read), "entry", "entries")}`),
      block("open", mark, Math.max(mark, read), `Not acknowledged, from ${position(mark)} on`),
      ranges.map(([first, last]) => block("done", first, last, `Acknowledged: ${position(first)} to ${position(last - 1)}`)),
      ranges.map(([first, last], index) => {
        // A hole is drawn over what is beside it, so that the smallest is seen, and over a half of that at most.
        const hole = index ? ranges[index - 1][1] : mark;
        return block("open", hole, first, `Not acknowledged: ${position(hole)} to ${position(first - 1)}`, Math.min(1.5, (x(last) - x(first)) / 2));
      }),
      s("line", { class: "edge", x1: x(mark), x2: x(mark), y1: 0, y2: HEIGHT, "vector-effect": "non-scaling-stroke" }));
    const open = Math.max(0, read - mark - acked);
    const text = length === mark
      ? "Everything is acknowledged."
      : `${mark ? `The mark is at ${position(mark - 1)}.` : "The mark is before the first entry."} Beyond it ${plural(acked, "entry is", "entries are")} acknowledged in ${plural(ranges.length, "range")}, ${count(open)} ${open === 1 ? "is" : "are"} delivered or due without an acknowledgement${ranges.length ? `, in ${plural(ranges.length, "hole")}` : ""}, and ${count(Math.max(0, length - Math.max(mark, read)))} not read yet.`;
    said.textContent = text;
    svg.setAttribute("aria-label", text);
  }
  return { element, update };
}
