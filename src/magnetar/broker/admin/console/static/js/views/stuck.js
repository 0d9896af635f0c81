// Why a subscription does not move, in plain words, with what to do about it.

import { find } from "../api.js";
import { h, put } from "../dom.js";
import { icon } from "../icons.js";
import { subscriptionPath } from "../names.js";
import { card } from "../ui/parts.js";

const EVERY_MS = 3_000;

export function stuckPanel(screen, { topic, name, partitioned }) {
  const list = h("ul", { class: "findings" });
  const element = card("Why stuck?", {}, list);
  element.classList.add("hidden");
  let asked = 0;

  async function update(stats) {
    const moves = !stats.blockedReason && stats.msgBacklog === 0;
    element.classList.toggle("hidden", moves);
    if (moves || Date.now() - asked < EVERY_MS) return;
    asked = Date.now();
    const found = partitioned ? null : await find(`${subscriptionPath(topic, name)}/diagnosis`, { signal: screen.signal }).catch(() => null);
    const findings = found?.findings ?? (stats.blockedReason ? [{ severity: "warning", text: stats.blockedReason }] : []);
    element.classList.toggle("hidden", findings.length === 0);
    put(list, findings.map(finding));
  }
  return { element, update };
}

function finding({ severity, text, remedy }) {
  const [tone, glyph] = { critical: ["bad", "stop"], error: ["bad", "stop"], warning: ["warn", "alert"], info: ["muted", "info"], ok: ["good", "check"] }[severity] ?? ["muted", "info"];
  const mark = icon(glyph);
  mark.classList.add(tone);
  return h("li", null, mark, h("div", { class: "what" }, h("h3", null, text), remedy && h("p", null, remedy)));
}
