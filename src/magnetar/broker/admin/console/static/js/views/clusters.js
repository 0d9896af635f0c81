// Clusters that replicate: who sends to whom, whether it is connected or why not, and how far behind.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, compact, duration, plural, rate } from "../format.js";
import { every } from "../live.js";
import { link, topicName } from "../names.js";
import { clusterMap } from "../ui/cluster_map.js";
import { badge, card, empty, head, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

const PATH = "magnetar/replication?others=true";
const EVERY_MS = 5_000;
const LATE_S = 10;
const CREATE = "magnetar admin clusters create --help";
const WORDS = { good: "connected", warn: "behind", bad: "not connected", idle: "nothing to send" };
const faint = (text) => h("span", { class: "faint" }, text);
const reason = (text) => h("div", { class: "faint wrap", style: { "min-width": "min(240px, 50vw)" } }, text);
const known = (value, write) => (value === undefined ? faint("–") : write(value));

/** How a way is: its tone, a word for that, and the reason where something is amiss. */
function stateOf(way) {
  const why = way.behind?.find((each) => each.trouble)?.trouble ?? "";
  if (way.backlog > 0 && (way.waiting > 0 || why)) return { tone: "bad", word: way.connected ? "in part not connected" : WORDS.bad, why };
  if (way.backlog > 0 && way.ageSeconds > LATE_S) return { tone: "warn", word: WORDS.warn, why };
  if (why) return { tone: "bad", word: WORDS.bad, why };
  return way.connected ? { tone: "good", word: WORDS.good, why } : { tone: "idle", word: WORDS.idle, why: "A topic is not attached while it has nothing to send for a minute." };
}

/** What was sent in a second since the look before, which counts what topics sent since they were opened. */
function withRates(found, before) {
  const seconds = before && (found.time - before.time) / 1000;
  const then = new Map((before?.links ?? []).map((each) => [`${each.from} ${each.to}`, each]));
  return found.links.map((way) => {
    const last = then.get(`${way.from} ${way.to}`);
    const grown = (name) => (last && seconds > 0 ? Math.max(way[name] - last[name], 0) / seconds : undefined);
    return { ...way, ...stateOf(way), key: `${way.from} ${way.to}`, rate: grown("msgOutCount"), throughput: grown("bytesOutCount") };
  });
}

const drawn = (way) => ({
  from: way.from,
  to: way.to,
  tone: way.tone,
  label: way.rate === undefined ? way.word : `${rate(way.rate)} msg/s`,
  under: way.backlog ? `${compact(way.backlog)} to send, ${duration(way.ageSeconds)}` : way.tone === "good" && way.backlog === 0 ? "nothing left" : way.word,
  said: `${way.from} to ${way.to}: ${way.word}${way.backlog ? `, ${plural(way.backlog, "entry", "entries")} to send` : ""}${way.tone === "bad" && way.why ? `, ${way.why}` : ""}`,
});

export async function show(screen) {
  screen.crumbs(["Clusters"]);
  let found = await get(PATH, { signal: screen.signal });
  let before = null;
  const map = clusterMap();
  const silent = h("div", { class: "stack" });
  const number = (id, label, of, write) => ({ id, label, right: true, value: (row) => of(row) ?? -1, cell: (row) => known(of(row), write) });
  const ways = table("Ways", {
    key: (row) => row.key,
    sort: "from",
    whenEmpty: () => empty("Nothing is replicated", "No open topic of this cluster goes to another one. A cluster that topics are to go to is made known to this one first, by its addresses:", { command: CREATE }),
    columns: [
      { id: "from", label: "From", value: (row) => row.key, className: "name", cell: (row) => [row.from, row.seenAt && h("div", { class: "faint" }, `as ${row.seenAt} sees it`)] },
      { id: "to", label: "To", value: (row) => row.to, cell: (row) => row.to },
      { id: "state", label: "State", value: (row) => row.word, cell: (row) => [badge(row.word, row.tone === "idle" ? "" : row.tone, { dot: true }), row.why && reason(row.why)] },
      { id: "topics", label: "Topics", right: true, value: (row) => row.topics, cell: (row) => [compact(row.topics), h("div", { class: "faint" }, `${compact(row.connected)} attached`)] },
      { id: "rate", label: "Sent in a second", right: true, value: (row) => row.rate ?? -1, cell: (row) => known(row.rate, (value) => [rate(value), h("div", { class: "faint" }, `${bytes(row.throughput)}/s`)]) },
      { id: "backlog", label: "To send", right: true, value: (row) => row.backlog ?? -1, cell: (row) => known(row.backlog, (value) => [compact(value), h("div", { class: "faint" }, bytes(row.backlogSize))]) },
      number("age", "Behind by", (row) => row.ageSeconds, (value) => (value ? duration(value) : "0")),
      number("sent", "Sent", (row) => row.msgOutCount, compact),
    ],
  });
  const topics = table("Topics behind", {
    key: (row) => `${row.way} ${row.topic}`,
    sort: "backlog",
    descending: true,
    columns: [
      { id: "topic", label: "Topic", value: (row) => row.topic, className: "name", cell: (row) => (row.from === found.cluster ? h("a", { href: link.topic(topicName(row.topic)) }, row.topic) : row.topic) },
      { id: "way", label: "From and to", value: (row) => row.way, cell: (row) => row.way },
      { id: "state", label: "State", cell: (row) => [badge(row.connected ? "attached" : "not attached", row.connected ? "good" : "warn", { dot: true }), row.trouble && reason(row.trouble)] },
      { id: "backlog", label: "To send", right: true, value: (row) => row.backlog, cell: (row) => compact(row.backlog) },
      { id: "age", label: "Behind by", right: true, value: (row) => row.ageSeconds, cell: (row) => (row.ageSeconds ? duration(row.ageSeconds) : "0") },
    ],
  });
  const late = h("div", { hidden: true }, card("Topics that are behind", { note: "Of each way those with most to send." }, topics.element));

  await every(screen, EVERY_MS, async () => {
    if (found === null) found = await get(PATH, { signal: screen.signal });
    const rows = withRates(found, before);
    map.update(Object.keys(found.clusters), found.cluster, rows.map(drawn));
    ways.update(rows);
    const behind = rows.flatMap((way) => (way.behind ?? []).map((each) => ({ ...each, from: way.from, way: `${way.from} to ${way.to}` })));
    const lateOnes = behind.filter((each) => each.trouble || each.ageSeconds > LATE_S);
    topics.update(lateOnes);
    late.hidden = !lateOnes.length;
    put(silent, Object.entries(found.silent).map(([name, why]) => notice("", h("b", null, name), ` does not tell what it sends: ${why}`)));
    before = found;
    found = null;
  });
  return [
    head("Clusters", { said: `What goes from one cluster to another, as far as brokers tell ${before.cluster}` }),
    h("div", { class: "stack" },
      Object.keys(before.clusters).length > 1 && card("Who sends to whom", {}, h("div", { class: "body" }, map.element)),
      silent,
      card("Ways", { note: "Of topics that are open. What is to send are entries, of one message or a batch." }, ways.element),
      late),
  ];
}
