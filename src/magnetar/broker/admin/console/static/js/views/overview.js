// The whole broker at a glance: what flows, how it fares, and what needs somebody.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { ago, bytes, compact, duration, plural, rate } from "../format.js";
import { icon } from "../icons.js";
import { inventory } from "../inventory.js";
import { every } from "../live.js";
import { seriesOf } from "../rates.js";
import { link, topicName } from "../names.js";
import { bar, chart } from "../ui/chart.js";
import { badge, card, empty, facts, figures, head, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { watchBroker } from "../watch.js";

const ATTENTION_EVERY_MS = 5_000;

export async function show(screen) {
  screen.crumbs(["Overview"]);
  const series = seriesOf("the broker", ["in", "out", "bytesIn", "bytesOut"]);
  const colors = ["var(--series-1)", "var(--series-2)"];
  const sums = figures(figuresOf(null));
  const messages = chart("Messages a second", [{ name: "in", series: series.in, color: colors[0] }, { name: "out", series: series.out, color: colors[1] }], { format: rate, height: 180 });
  const traffic = chart("Bytes a second", [{ name: "in", series: series.bytesIn, color: colors[0] }, { name: "out", series: series.bytesOut, color: colors[1] }], { format: bytes, height: 180, binary: true });
  const badges = h("span", { class: "row" });
  const machine = h("div", { class: "body" });
  const first = await watchBroker(screen, (look, settled) => {
    if (settled) {
      series.in.add(look.rates.msgRateIn);
      series.out.add(look.rates.msgRateOut);
      series.bytesIn.add(look.rates.msgThroughputIn);
      series.bytesOut.add(look.rates.msgThroughputOut);
    }
    messages.draw();
    traffic.draw();
    sums.update(figuresOf(look));
    put(machine, healthOf(look));
  });
  const wrong = h("div", { class: "stack" });
  const attention = attentionCard(screen, await isFresh(first, screen.signal), { badges, wrong });
  return [
    head("Overview", { badges, said: [first.cluster && `Cluster ${first.cluster}`, first.broker, first.version && `version ${first.version}`].filter(Boolean).join(" · ") }),
    wrong,
    sums.element,
    h("div", { class: "grid" }, card("Messages a second", {}, messages.element), card("Bytes a second", {}, traffic.element)),
    h("div", { class: "grid wide-first" }, attention, first.loopLag && card("This broker", {}, machine)),
  ];
}

/** Whether it has no topics, open or not; nobody can say who does not see all namespaces. */
async function isFresh(look, signal) {
  if (look.counts.topics) return false;
  const { all, topics } = await inventory(signal);
  return all && topics.size === 0;
}

function figuresOf(look) {
  const of = (value) => (look ? value() : "–");
  const counts = look?.counts;
  return [
    ["In", of(() => rate(look.rates.msgRateIn)), "/s", look && `${bytes(look.rates.msgThroughputIn)}/s`],
    ["Out", of(() => rate(look.rates.msgRateOut)), "/s", look && `${bytes(look.rates.msgThroughputOut)}/s`],
    ["Backlog", of(() => compact(look.msgBacklog)), "entries", look && plural(counts.subscriptions, "subscription")],
    ["Stored", of(() => bytes(look.storageSize)), "", look?.disk && `${bytes(look.disk.freeBytes)} free on the disk`],
    ["Topics", of(() => compact(counts.topics)), "open", look && `in ${plural(counts.namespaces, "namespace")}`],
    ["Clients", of(() => compact(counts.producers + counts.consumers)), "", look && `${plural(counts.producers, "producer")}, ${plural(counts.consumers, "consumer")}`],
  ];
}

function healthOf(look) {
  const quantiles = (said) => said && `${rate(said.p50Ms)} ms, ${rate(said.p99Ms)} ms`;
  const disk = look.disk;
  return facts([
    ["Up for", duration(look.uptimeSeconds)],
    ["Connections", compact(look.connections)],
    ["Memory", look.memoryBytes && bytes(look.memoryBytes)],
    ["Sync of the log (p50, p99)", quantiles(look.fsync) ?? "no sync: stored in memory"],
    ["Lag of the event loop", quantiles(look.loopLag)],
    ["Disk", disk && bar(1 - disk.freeBytes / disk.totalBytes, `${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)} free`, disk.freeBytes / disk.totalBytes < 0.1 ? "bad" : "")],
  ]);
}

/** Whether the broker is well, which only superusers may ask; what it says where it is not. */
async function healthBadge(signal) {
  try {
    await get("brokers/health", { signal, accept: "*/*" });
    return badge("healthy", "good", { dot: true });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error.status === 0) return badge("no answer", "bad", { dot: true, title: error.message });
    return error.status === 503 ? badge("not healthy", "bad", { dot: true, title: error.message }) : "";
  }
}

/** Subscriptions that need somebody, the stuck ones first; `wrong` shows what is wrong with the broker itself. */
function attentionCard(screen, fresh, { badges, wrong }) {
  let calm = true;
  const list = table("Needs attention", {
    key: (row) => `${row.topic} ${row.subscription}`,
    columns: [
      { id: "name", label: "Subscription, and why", className: "name all", cell: needOf },
      { id: "backlog", label: "Backlog", right: true, cell: (row) => compact(row.msgBacklog) },
      { id: "since", label: "Moved", right: true, cell: (row) => h("span", { class: "muted" }, ago(row.since)) },
    ],
    whenEmpty: () => (calm ? (fresh ? freshBroker() : nothingNeedsYou()) : h("div", { class: "empty" }, h("p", null, "No subscription is known to be stuck. The broker itself needs you: see above."))),
  });
  const more = h("span", { class: "muted" });
  void every(screen, ATTENTION_EVERY_MS, async () => {
    put(badges, await healthBadge(screen.signal));
    try {
      const { count: all, subscriptions, broker } = await get("magnetar/attention", { signal: screen.signal });
      calm = broker.length === 0;
      put(wrong, broker.map((each) => notice(each.severity === "error" ? "bad" : "warn", h("b", null, each.text), ` ${each.remedy}`)));
      list.update(subscriptions);
      more.textContent = all > subscriptions.length ? `${subscriptions.length} of ${all}` : "";
    } catch (error) {
      if (error.name === "AbortError") throw error;
      calm = false;
      put(wrong, notice("bad", h("b", null, error.message), " What is shown is what it said before."));
      list.update([]);
      throw error;
    }
  }).catch(() => {});
  return card("Needs attention", { actions: more }, list.element);
}

const nothingNeedsYou = () => h("div", { class: "empty" }, h("p", { class: "good row", style: { "justify-content": "center" } }, icon("check"), "Nothing needs you: of the open topics, no subscription is stuck, none waits for consumers"));

/** Which subscription it is, how it is and why, in one cell: names are long, and screens may be narrow. */
function needOf(row) {
  const topic = topicName(row.topic);
  const state = row.cause === "no-consumer" ? badge("No consumers", "warn", { dot: true }) : badge("Stuck", "bad", { dot: true });
  return [
    h("div", { class: "row" }, h("a", { href: link.subscription(topic, row.subscription) }, row.subscription), state),
    h("div", { class: "help origin" }, `${topic.tenant}/${topic.namespace}/${topic.local}`),
    row.cause !== "no-consumer" && h("div", { class: "said" }, row.reason),
  ].filter(Boolean);
}

/** What to do with a broker that nobody has used. */
const freshBroker = () => empty("A fresh broker", "Publish a first message, and see it here:", { command: 'magnetar produce hello -m "Hello, Magnetar"' });
