// Why a subscription does not move, in plain words, with what to do about it.

import { find } from "../api.js";
import { here } from "../commands.js";
import { h, put } from "../dom.js";
import { ago } from "../format.js";
import { icon } from "../icons.js";
import { position, positionText } from "../log.js";
import { link, subscriptionPath, topicName } from "../names.js";
import { button, card } from "../ui/parts.js";
import { clear, erase, reset } from "./cursor_actions.js";
import { messageLink } from "./messages.js";

const EVERY_MS = 2_500;
const LONG_MS = 10_000;
const TONES = { error: ["bad", "stop"], warning: ["warn", "alert"], info: ["muted", "info"], ok: ["good", "check"] };

/** Causes that something on these screens can be done about: links to policies, or to messages, and actions. */
const POLICIES = {
  "blocked-on-unacked-consumer": "unacknowledged", "blocked-on-unacked-subscription": "unacknowledged", "dispatch-rate": "delivery",
  "delayed": "delayed", "expired": "time to live", "backlog-quota": "backlog quota", "publish-rate": "publishing",
};
const FIRST_MESSAGE = new Set(["acknowledgement-holes", "waiting-for-acknowledgements", "redelivered", "no-permits", "slot-drains", "read-failed"]);
const ACTIONS = { "no-consumers": [["Clear the backlog", clear], ["Delete the subscription", erase]], "read-failed": [["Reset", reset]], "backlog-quota": [["Clear the backlog", clear]] };

export function stuckPanel(screen, context) {
  const { topic, name } = context;
  const list = h("ul", { class: "findings" });
  const title = h("span", null, "Why stuck?");
  const element = card(title, {}, list);
  element.classList.add("hidden");
  let asked = 0;
  let first = null;

  /** ``stuck``: nothing moves. */
  async function update(stuck) {
    if (Date.now() - asked < EVERY_MS) return;
    asked = Date.now();
    const found = await find(`${subscriptionPath(topic, name)}/diagnosis`, { signal: screen.signal }).catch(() => null);
    element.classList.toggle("hidden", !found || inOrder(found));
    if (!found || inOrder(found)) return;
    if (!context.partitioned && topic.persistent) first = firstOpen(await find(`${subscriptionPath(topic, name)}/cursor`, { signal: screen.signal }).catch(() => null));
    title.textContent = stuck || found.severity === "error" ? "Why stuck?" : found.severity === "warning" ? "What slows it down" : "How it fares";
    const parts = found.partitions ?? [found];
    put(list, parts.flatMap((part) => part.findings.filter((each, index) => index === 0 || each.severity !== "ok").map((each) => finding(each, part, found.partitions !== undefined))));
  }

  function finding({ cause, severity, text, remedy, since }, part, named) {
    const [tone, glyph] = TONES[severity] ?? TONES.info;
    const mark = icon(glyph);
    mark.classList.add(tone);
    const place = topicName(part.topic);
    return h("li", null, mark,
      h("div", { class: "what" },
        h("h3", null, h("span", { class: "unseen" }, `${severity}: `), text),
        (remedy || since) && h("p", null, remedy && `What helps: ${here(remedy)}. `, since && Date.now() - since > LONG_MS && h("span", { class: "faint" }, `For ${ago(since).replace(" ago", "")}.`)),
        named && h("p", null, h("a", { href: link.subscription(place, name) }, `partition ${place.partition}`))),
      h("div", { class: "row remedies" }, remedies(cause, part, place, text)));
  }

  function remedies(cause, part, place, text) {
    const found = [];
    const at = cause === "redelivered" ? /(\d+:\d+)/.exec(text)?.[1] : first;
    if (FIRST_MESSAGE.has(cause) && at) found.push(h("a", { class: "button small", href: messageLink(place, at) }, "See the message"));
    if (cause === "schema-refused") found.push(h("a", { class: "button small", href: link.topic(place, "schema") }, "See the schema"));
    if (POLICIES[cause]) found.push(h("a", { class: "button small", href: `${link.topic(place, "policies")}?find=${encodeURIComponent(POLICIES[cause])}` }, "Change the policy"));
    for (const [label, act] of ACTIONS[cause] ?? []) {
      found.push(button(label, () => act({ ...context, topic: place, partitioned: false }).then((done) => done && screen.reload()), { small: true, refused: context.rights.consume }));
    }
    return found;
  }
  return { element, update };
}

/** Whether there is nothing to say: what was just delivered is not acknowledged in the same moment. */
function inOrder({ severity, findings, partitions }) {
  const all = partitions?.flatMap((part) => part.findings) ?? findings;
  return severity === "ok" || (severity === "info" && all.every((each) => each.severity === "ok" || each.cause === "waiting-for-acknowledgements"));
}

/** The position of the first entry that is not acknowledged. */
function firstOpen(cursor) {
  if (!cursor?.msgBacklog) return null;
  const { ledger, entry } = position(cursor.markDeletePosition);
  return positionText({ ledger, entry: entry + 1 });
}
