// What a topic does: rates as they are, who publishes, who subscribes.

import { put } from "../api.js";
import { h } from "../dom.js";
import { ago, bytes, compact, plural, rate } from "../format.js";
import { flaw, link, subscriptionPath } from "../names.js";
import { seriesOf } from "../rates.js";
import { stateOf } from "../subscriptions.js";
import { chart } from "../ui/chart.js";
import { ask } from "../ui/dialog.js";
import { field, radios, text } from "../ui/forms.js";
import { badge, button, card, empty, figures, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { watchTopic } from "../watch.js";
import { partitionsCard } from "./partitions.js";

export async function liveTab(screen, { topic, partitioned, rights }) {
  const series = seriesOf(topic.full, ["in", "out", "bytesIn", "bytesOut"]);
  const colors = ["var(--series-1)", "var(--series-2)"];
  const messages = chart("Messages a second", [{ name: "in", series: series.in, color: colors[0] }, { name: "out", series: series.out, color: colors[1] }], { format: rate });
  const traffic = chart("Bytes a second", [{ name: "in", series: series.bytesIn, color: colors[0] }, { name: "out", series: series.bytesOut, color: colors[1] }], { format: bytes, binary: true });
  const sums = figures(figuresOf(null));
  const partitions = partitioned ? partitionsCard() : null;
  const subscriptions = subscriptionsTable(topic);
  const producers = producersTable(topic);
  const clusters = clustersTable();
  const elsewhere = h("div", { hidden: true }, card("Other clusters", {}, clusters.element));
  const held = h("div");

  await watchTopic(screen, topic, partitioned, (stats, settled) => {
    if (settled) {
      series.in.add(stats.msgRateIn);
      series.out.add(stats.msgRateOut);
      series.bytesIn.add(stats.msgThroughputIn);
      series.bytesOut.add(stats.msgThroughputOut);
    }
    messages.draw();
    traffic.draw();
    sums.update(figuresOf(stats));
    partitions?.update(stats);
    subscriptions.update(Object.entries(stats.subscriptions).map(([name, each]) => ({ name, stats: each })));
    const others = Object.entries(stats.replication ?? {});
    elsewhere.hidden = !others.length;
    clusters.update(others.map(([name, each]) => ({ name, stats: each })));
    producers.update(stats.publishers.map((each) => ({ stats: each })));
    const since = stats.producersHeldSince ? ago(stats.producersHeldSince).replace(" ago", "") : "";
    if (held.dataset.since !== since) held.replaceChildren(...(since ? [heldNotice(since)] : []));
    held.dataset.since = since;
  });

  const create = topic.persistent && button("New subscription", () => newSubscription(topic).then((made) => made && screen.reload()), { small: true, glyph: "plus", refused: rights.consume });
  return h("div", { class: "stack" },
    held,
    sums.element,
    h("div", { class: "grid" }, card("Messages a second", {}, messages.element), card("Bytes a second", {}, traffic.element)),
    card("Subscriptions", { actions: create }, subscriptions.element),
    elsewhere,
    partitions?.element,
    card("Producers", {}, producers.element));
}

const heldNotice = (since) => notice("warn", h("b", null, "A backlog quota holds producers back"), ` for ${since}: they can publish again when the subscription that is behind has consumed or skipped enough, or the quota is raised.`);

function figuresOf(stats) {
  const all = stats ? Object.values(stats.subscriptions) : [];
  const backlog = all.reduce((most, each) => most + each.msgBacklog, 0);
  return [
    ["In", stats ? rate(stats.msgRateIn) : "–", "/s", stats && `${compact(stats.msgInCounter)} since it was opened`],
    ["Out", stats ? rate(stats.msgRateOut) : "–", "/s", stats && `${compact(stats.msgOutCounter)} since it was opened`],
    ["Backlog", stats ? compact(backlog) : "–", "entries", stats && (stats.oldestBacklogMessageAgeSeconds > 0 ? `the oldest is ${ago(Date.now() - stats.oldestBacklogMessageAgeSeconds * 1000).replace(" ago", " old")}` : plural(all.length, "subscription"))],
    ["Stored", stats ? bytes(stats.storageSize) : "–", "", stats && (stats.offloadedStorageSize ? `${bytes(stats.offloadedStorageSize)} of it offloaded` : stats.averageMsgSize ? `${bytes(stats.averageMsgSize)} a message` : "")],
    ["Producers", stats ? compact(stats.publishers.length) : "–", "", stats && (stats.waitingPublishers ? `${stats.waitingPublishers} wait for their turn` : `last message ${ago(stats.lastPublishTimeStamp)}`)],
  ];
}

function subscriptionsTable(topic) {
  const number = (id, label, of, write = compact) => ({ id, label, right: true, value: (row) => of(row.stats) ?? 0, cell: (row) => write(of(row.stats) ?? 0) });
  return table("Subscriptions", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Subscription", value: (row) => row.name, className: "name", cell: (row) => h("a", { href: link.subscription(topic, row.name) }, row.name) },
      { id: "state", label: "State", value: (row) => stateOf(row.stats).text, cell: (row) => { const state = stateOf(row.stats); return badge(state.text, state.tone, { dot: true, title: state.why }); } },
      { id: "type", label: "Type", value: (row) => row.stats.type, cell: (row) => [row.stats.type === "None" ? "–" : row.stats.type, row.stats.isDurable === false && h("span", { class: "faint" }, " reader")] },
      number("consumers", "Consumers", (stats) => stats.consumers?.length),
      number("backlog", "Backlog", (stats) => stats.msgBacklog),
      number("out", "Out /s", (stats) => stats.msgRateOut, rate),
      number("acks", "Acks /s", (stats) => stats.messageAckRate, rate),
      number("unacked", "Unacked", (stats) => stats.unackedMessages),
      number("delayed", "Delayed", (stats) => stats.msgDelayed),
      { id: "acked", label: "Last ack", right: true, value: (row) => row.stats.lastAckedTimestamp ?? 0, cell: (row) => h("span", { class: "muted" }, ago(row.stats.lastAckedTimestamp)) },
    ],
    whenEmpty: () => empty("No subscriptions", "Nobody has subscribed, so that messages go as retention says. Receive what comes:", { command: `magnetar consume ${topic.full} -s my-subscription -n 0` }),
  });
}

function clustersTable() {
  const state = ({ stats }) => (stats.connected ? ["connected", "good"] : stats.trouble ? ["away", "bad"] : ["at rest", ""]);
  const number = (id, label, of, write = compact) => ({ id, label, right: true, value: (row) => of(row.stats) ?? 0, cell: (row) => write(of(row.stats) ?? 0) });
  return table("Other clusters", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Cluster", value: (row) => row.name, className: "name" },
      { id: "state", label: "State", value: (row) => state(row)[0], cell: (row) => badge(...state(row), { dot: true, title: row.stats.trouble ?? "" }) },
      number("backlog", "To be sent", (stats) => stats.replicationBacklog),
      number("bytes", "Bytes", (stats) => stats.replicationBacklogSize, bytes),
      number("age", "Seconds behind", (stats) => stats.replicationBacklogAgeInSeconds),
      number("out", "Out /s", (stats) => stats.msgRateOut, rate),
      number("in", "In /s", (stats) => stats.msgRateIn, rate),
      { id: "why", label: "Why not", value: (row) => row.stats.trouble ?? "", className: "muted wrap" },
    ],
    whenEmpty: () => empty("No other clusters", "The topic stays in this one."),
  });
}

function producersTable(topic) {
  return table("Producers", {
    key: (row) => `${row.stats.producerId} ${row.stats.producerName} ${row.stats.address}`,
    sort: "name",
    columns: [
      { id: "name", label: "Producer", value: (row) => row.stats.producerName, className: "name" },
      { id: "in", label: "In /s", right: true, value: (row) => row.stats.msgRateIn, cell: (row) => rate(row.stats.msgRateIn) },
      { id: "bytes", label: "Bytes /s", right: true, value: (row) => row.stats.msgThroughputIn, cell: (row) => bytes(row.stats.msgThroughputIn) },
      { id: "size", label: "Average", right: true, value: (row) => row.stats.averageMsgSize, cell: (row) => bytes(row.stats.averageMsgSize) },
      { id: "mode", label: "Access", value: (row) => row.stats.accessMode, className: "muted" },
      { id: "address", label: "Address", value: (row) => row.stats.address ?? "", className: "date", cell: (row) => (row.stats.address ?? "").replace(/^\//, "") },
      { id: "client", label: "Client", value: (row) => row.stats.clientVersion ?? "", className: "date" },
      { id: "since", label: "Since", right: true, value: (row) => row.stats.connectedSince ?? "", cell: (row) => h("span", { class: "muted" }, ago(Date.parse(row.stats.connectedSince))) },
    ],
    whenEmpty: () => empty("Nobody publishes", "Publish a message here with the button above, or from a shell:", { command: `magnetar produce ${topic.full} -m "Hello, Magnetar"` }),
  });
}

function newSubscription(topic) {
  const name = text("subscription", { required: true });
  return ask("New subscription", {
    said: "It keeps what is published from its beginning on, until it is acknowledged.",
    verb: "Create",
    fill: () => [field("Name", name), radios("Begins at", "begin", [["latest", "the end: what comes from now on"], ["earliest", "the first message that is stored"]], "latest")],
    act: async (form) => {
      const wrong = flaw(name.value.trim(), "topic");
      if (wrong) throw new Error("A subscription needs a name");
      await put(subscriptionPath(topic, name.value.trim()), JSON.stringify(form.elements.begin.value));
      return name.value.trim();
    },
    done: (made) => `${made} is there`,
  });
}
