// What can be done to a subscription: each says what it will do, in messages, before it does it.

import { find, get, post, remove } from "../api.js";
import { h, put } from "../dom.js";
import { count, plural, time } from "../format.js";
import { Log, position } from "../log.js";
import { link, subscriptionPath } from "../names.js";
import { go } from "../router.js";
import { ask, confirm } from "../ui/dialog.js";
import { check, field, menu, number, radios, select, text } from "../ui/forms.js";
import { button, notice } from "../ui/parts.js";
import { toast } from "../ui/toast.js";
import { replay } from "./again.js";

const entries = (n) => plural(n, "entry", "entries");

export function subscriptionActions(screen, context) {
  const { topic, partitioned, rights } = context;
  const refused = rights.consume || (topic.persistent ? "" : "A non-persistent topic stores nothing");
  const alone = partitioned ? "Open a partition: this can be done to one partition at a time" : "";
  const then = (action) => async () => { if (await action(context) && !screen.signal.aborted) screen.reload(); };
  return [
    button("Reset", then(reset), { glyph: "back", refused }),
    button("Skip", then(skip), { glyph: "right", refused: refused || alone }),
    menu("More", [
      { text: "Replay messages", glyph: "refresh", refused, act: then(replay) },
      { text: "Expire old messages", glyph: "stop", refused, act: then(expire) },
      { text: "Clear the backlog", glyph: "trash", danger: true, refused, act: then(clear) },
      { text: "Delete the subscription", glyph: "trash", danger: true, refused: rights.consume, act: async () => { if (await erase(context)) go(link.topic(topic)); } },
    ]),
  ];
}

/** Where the cursor is in its log: {log, mark}; null for a partitioned topic. */
async function whereabouts({ topic, name, partitioned }) {
  if (partitioned) return null;
  const [internal, cursor] = await Promise.all([get(`${topic.path}/internalStats`), get(`${subscriptionPath(topic, name)}/cursor`)]);
  const log = new Log(internal);
  return { log, mark: log.through(position(cursor.markDeletePosition)) };
}

async function backlogOf({ topic, name, partitioned }) {
  const stats = await get(`${topic.path}/${partitioned ? "partitioned-stats?perPartition=false" : "stats"}`);
  return stats.subscriptions[name]?.msgBacklog ?? 0;
}

/** What moving the mark to ``target`` entries from the beginning does, in words. */
function moved(here, target) {
  if (target < here.mark) return `Delivers ${entries(here.mark - target)} again, and then what comes after.`;
  if (target > here.mark) return `Passes over ${entries(target - here.mark)}, which are not delivered any more.`;
  return "Begins again where it is: what was delivered and not acknowledged comes again.";
}

/** ``begin`` is a message, as "ledger:entry", that is offered first. */
export async function reset(context, begin = "") {
  const { topic, name, partitioned } = context;
  const here = await whereabouts(context);
  const path = subscriptionPath(topic, name);
  const local = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000);
  const at = h("input", { type: "datetime-local", name: "time", step: "1", value: local.toISOString().slice(0, 19), oninput: preview });
  const id = text("position", { placeholder: "ledger:entry", value: begin, oninput: preview });
  const byTime = field("Published at or after", at, "Your own time zone");
  const byId = field("Message", id, "It is the first that comes again");
  const effect = h("div", { role: "status" });
  let how = begin ? "position" : "earliest";
  let latest = 0;

  async function target() {
    if (how === "earliest") return 0;
    if (how === "latest") return here.log.length;
    if (how === "position") return here.log.through(position(id.value)) - 1;
    const found = await find(`${topic.path}/messageid/${new Date(at.value).getTime()}`);
    if (!found) return null;
    return here.log.through({ ledger: found.ledgerId, entry: found.entryId - 1 });
  }
  async function preview() {
    const turn = ++latest;
    byTime.classList.toggle("hidden", how !== "time");
    byId.classList.toggle("hidden", how !== "position");
    if (!here) return put(effect, notice("", "Resets each partition by itself."));
    if (how === "position" && !/^\d+:-?\d+$/.test(id.value)) return put(effect);
    const to = await target();
    if (turn !== latest) return effect;
    return put(effect, to === null ? "" : notice(to < here.mark ? "" : "warn", moved(here, to)));
  }
  const choices = [["earliest", "the first message that is stored"], ["latest", "the end"], ["time", "a time"], !partitioned && ["position", "a message"]].filter(Boolean);
  return ask(`Reset ${name}`, {
    said: "Consumers are disconnected for a moment and come back.",
    verb: "Reset",
    fill: () => { void preview(); return [radios("To", "to", choices, how, (chosen) => { how = chosen; void preview(); }), byTime, byId, effect]; },
    act: async () => {
      if (how === "time") return post(`${path}/resetcursor/${new Date(at.value).getTime()}`);
      if (partitioned) return post(`${path}/resetcursor/${how === "earliest" ? 0 : Date.now() + 1}`);
      if (how === "position") {
        const { ledger, entry } = position(id.value);
        return post(`${path}/resetcursor`, { ledgerId: ledger, entryId: entry, partitionIndex: -1, batchIndex: -1 });
      }
      return post(`${path}/resetcursor`, JSON.stringify(how));
    },
    done: `${name} is reset`,
  });
}

/** Asks which subscription of a topic begins again at a message. */
export async function resetTo(topic, { ledgerId, entryId }) {
  const names = await get(`${topic.path}/subscriptions`);
  if (!names.length) return toast("The topic has no subscriptions", "warn");
  const which = select("subscription", names.sort().map((name) => [name, name]), names[0]);
  const chosen = await ask("Reset a subscription", { verb: "Next", fill: () => field("Subscription", which), act: () => which.value });
  return chosen && reset({ topic, name: chosen, partitioned: false }, `${ledgerId}:${entryId}`);
}

async function skip(context) {
  const { topic, name } = context;
  const backlog = await backlogOf(context);
  const input = number("count", { min: 1, value: 1, max: Math.max(1, backlog), oninput: preview });
  const effect = h("div", { role: "status" });
  function preview() {
    const n = Math.min(Number(input.value) || 0, backlog);
    put(effect, notice("warn", backlog === 0 ? "There is nothing to skip." : `The next ${entries(n)} of ${count(backlog)} in the backlog ${n === 1 ? "is" : "are"} not delivered any more.`));
  }
  preview();
  return ask(`Skip messages of ${name}`, {
    verb: "Skip",
    fill: () => [field("How many", input, "Entries: a batch counts as one"), effect],
    act: () => post(`${subscriptionPath(topic, name)}/skip/${Number(input.value)}`),
    done: "They are skipped",
  });
}

async function expire(context) {
  const { topic, name } = context;
  const here = await whereabouts(context);
  const input = number("seconds", { min: 1, value: 3600, oninput: preview });
  const effect = h("div", { role: "status" });
  let latest = 0;
  async function preview() {
    const turn = ++latest;
    const before = Date.now() - Number(input.value) * 1000;
    const found = here && await find(`${topic.path}/messageid/${Math.round(before)}`);
    if (turn !== latest) return;
    const n = found ? Math.max(0, here.log.through({ ledger: found.ledgerId, entry: found.entryId - 1 }) - here.mark) : NaN;
    put(effect, notice("warn", Number.isNaN(n) ? `What was published before ${time(before)} is not delivered any more.` : n === 0 ? `Nothing in the backlog was published before ${time(before)}.` : `At most ${entries(n)}, published before ${time(before)}, ${n === 1 ? "is" : "are"} not delivered any more.`));
  }
  void preview();
  return ask(`Expire old messages of ${name}`, {
    verb: "Expire",
    fill: () => [field("Older than", input, "Seconds"), effect],
    act: () => post(`${subscriptionPath(topic, name)}/expireMessages/${Number(input.value)}`),
    done: "They are expired",
  });
}

export async function clear(context) {
  const { topic, name } = context;
  const backlog = await backlogOf(context);
  return confirm(`Clear the backlog of ${name}`, {
    said: backlog ? `${entries(backlog)} of ${topic.local} ${backlog === 1 ? "is" : "are"} not delivered to it any more. Other subscriptions keep theirs.` : "Its backlog is empty already.",
    typed: backlog ? name : undefined, verb: "Clear", done: "The backlog is cleared",
    act: () => post(`${subscriptionPath(topic, name)}/skip_all`),
  });
}

export async function erase(context) {
  const { topic, name } = context;
  const backlog = await backlogOf(context);
  const force = check("Also while consumers are connected: they are disconnected, and may subscribe again by themselves", "force");
  return confirm(`Delete the subscription ${name}`, {
    said: `Its place in ${topic.local} is forgotten${backlog ? `, with ${entries(backlog)} that it still had to deliver` : ""}.`,
    details: force, typed: name, verb: "Delete", done: `${name} is deleted`,
    act: () => remove(`${subscriptionPath(topic, name)}${force.querySelector("input").checked ? "?force=true" : ""}`),
  });
}
