// Dead letters back to where they came from, and messages once more: a dry run first, and then it is done.

import { get, post, remove } from "../api.js";
import { h, put } from "../dom.js";
import { count, plural } from "../format.js";
import { subscriptionPath, topicName } from "../names.js";
import { idText, preview } from "../payload.js";
import { pause } from "../stream.js";
import { ask, STAY } from "../ui/dialog.js";
import { check, field, number, select, text } from "../ui/forms.js";
import { button, notice } from "../ui/parts.js";
import { news } from "../ui/toast.js";

const POLL_MS = 400;

/** Which messages are meant: {element, read()}. */
function criteria() {
  const key = text("key", { placeholder: "any" });
  const filter = text("filter", { placeholder: "text, or property=value" });
  const most = number("count", { min: 1, value: 1000 });
  const read = () => ({ ...(key.value && { key: key.value }), ...(filter.value && { filter: filter.value }), count: Number(most.value) });
  return { element: h("div", { class: "fields" }, field("Key", key), field("Contains", filter), field("At most", most)), read };
}

/** Asks with fields, tries what they say, and does it only as it was tried. ``work(body)`` sends it. */
function tried(title, { said, fields, read, work, verb, done }) {
  const result = h("div", { role: "status", class: "stack" });
  let last = null;
  return ask(title, {
    said,
    wide: true,
    verb: "Try first",
    fill: (form, { submit }) => {
      form.addEventListener("input", () => { last = null; submit.textContent = "Try first"; put(result); });
      return [fields, result];
    },
    act: async (form) => {
      const wanted = read();
      if (last !== null) return work(wanted);
      const plan = await work({ ...wanted, dryRun: true });
      put(result, shown(plan));
      if (plan.messages) {
        last = plan;
        form.querySelector("footer button[type=submit]").textContent = `${verb} ${plural(plan.messages, "message")}`;
      }
      return STAY;
    },
    done,
  });
}

function shown(plan) {
  const targets = Object.entries(plan.targets ?? {}).map(([topic, n]) => h("li", null, `${count(n)} to `, h("span", { class: "mono wrap" }, topic)));
  const skipped = Object.entries(plan.skipped ?? {}).map(([reason, n]) => h("li", { class: "warn wrap" }, `${plural(n, "stays", "stay")}: ${reason}`));
  const parts = (plan.partitions ?? []).filter((each) => each.entries > 0).map(({ topic, entries }) => h("li", null, `partition ${topicName(topic).partition}: ${plural(entries, "entry", "entries")}`));
  const sample = plan.sample ?? [];
  return [
    notice(plan.messages ? "good" : "warn", plan.messages ? `${plural(plan.messages, "message")} in ${plural(plan.entries, "entry", "entries")}${plan.complete ? "" : ", and perhaps more: this is as far as was looked"}. Nothing was done yet.` : "No message fits."),
    (targets.length > 0 || skipped.length > 0 || parts.length > 0) && h("ul", null, targets, parts, skipped),
    sample.length > 0 && h("div", null, h("h3", null, "The first of them"), h("ul", null, sample.map((message) => h("li", { class: "row", style: { "flex-wrap": "nowrap" } }, h("span", { class: "mono faint" }, idText(message.id)), h("span", null, message.key ?? ""), h("span", { class: "preview" }, preview(message)))))),
  ].filter(Boolean);
}

/** Dead letters of a topic, of all its partitions, back to where they were published first. */
export async function redrive(topic, partitions = 0) {
  const names = (await get(`${topic.path}/subscriptions`)).sort();
  const path = `${topic.path}/redrive`;
  const which = select("subscription", names.map((name) => [name, name]), names[0]);
  const to = text("to", { placeholder: "where each came from" });
  const wanted = criteria();
  const force = check("Also while consumers are connected, which may have some of them already", "force");
  const read = () => ({
    ...wanted.read(),
    ...(names.length > 0 && { subscription: which.value }),
    ...(to.value && { to: to.value }),
    ...(force.querySelector("input").checked && { force: true }),
  });
  const started = await tried(`Send the dead letters of ${topic.local} back`, {
    said: `Each is published where it came from, and acknowledged here when its copy is durable.${partitions ? ` All ${plural(partitions, "partition")}, one after the other.` : ""}`,
    fields: h("div", { class: "stack" }, names.length > 0 && field("Letters of the subscription", which), field("To the topic", to, "Empty: where each came from"), wanted.element, force),
    read,
    verb: "Send back",
    work: (body) => post(path, body),
  });
  if (started) await followed(path);
  return started;
}

async function followed(path) {
  const told = news("The letters are on their way", button("Stop", () => remove(path), { small: true, glyph: "stop" }));
  for (;;) {
    await pause(POLL_MS);
    try {
      const { status, messages, error, partitions = [] } = await get(path);
      const done = partitions.filter((each) => each.status === "SUCCESS").length;
      if (status !== "RUNNING") {
        told.end(status === "SUCCESS" ? `${plural(messages, "letter")} sent back` : `After ${plural(messages, "letter")}: ${error}`, status === "SUCCESS" ? "good" : "bad");
        return;
      }
      told.say(`${plural(messages, "letter")} sent back so far${partitions.length ? `, ${done} of ${plural(partitions.length, "partition")} done` : ""}`);
    } catch (error) {
      told.end(`Nobody can say how far the letters are: ${error.message}`, "bad");
      return;
    }
  }
}

/** Messages that a subscription has acknowledged, once more. */
export function replay({ topic, name, partitioned }) {
  const from = text("from", { value: "earliest" });
  const wanted = criteria();
  return tried(`Replay messages to ${name}`, {
    said: `It gets those that fit once more, which it acknowledged before; everything else stays acknowledged. A batch comes as a whole.${partitioned ? " One partition after the other, as many as asked for in all." : ""}`,
    fields: h("div", { class: "stack" }, field("From", from, partitioned ? "earliest, or a time as 2026-01-31T12:00:00Z" : "earliest, a message as ledger:entry, or a time as 2026-01-31T12:00:00Z"), wanted.element),
    read: () => ({ ...wanted.read(), from: from.value.trim() || "earliest" }),
    verb: "Replay",
    work: (body) => post(`${subscriptionPath(topic, name)}/replay`, body),
    done: (answer) => `${plural(answer.messages, "message")} will come again`,
  });
}
