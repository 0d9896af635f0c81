// One subscription: why it moves or does not, its consumers, what is acknowledged, and what can be done to it.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { ago, bytes, compact, count, duration, rate } from "../format.js";
import { every } from "../live.js";
import { ackedRanges, Log, position, positionText } from "../log.js";
import { seriesOf } from "../rates.js";
import { link, named, subscriptionPath } from "../names.js";
import { rightsFor } from "../rights.js";
import { stateOf } from "../subscriptions.js";
import { ackStrip } from "../ui/ack_strip.js";
import { bar, chart } from "../ui/chart.js";
import { hashRing } from "../ui/hash_ring.js";
import { badge, card, empty, facts, figures, head } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { watchTopic } from "../watch.js";
import { subscriptionActions } from "./cursor_actions.js";
import { stuckPanel } from "./stuck.js";

export async function show(screen) {
  const { domain, tenant, namespace, local, subscription: name } = screen.params;
  const topic = named(domain, tenant, namespace, local);
  screen.crumbs(["Tenants", "#/tenants"], [tenant, link.tenant(tenant)], [namespace, link.namespace(tenant, namespace)], [local, link.topic(topic)], [name]);
  const [rights, { partitions }] = await Promise.all([rightsFor({ tenant, namespace, topic, subscription: name }), get(`${topic.path}/partitions`, { signal: screen.signal })]);
  const partitioned = partitions > 0;
  await get(`${subscriptionPath(topic, name)}/diagnosis`, { signal: screen.signal });  // It says so where there is none.
  const badges = h("span", { class: "row" });
  const series = seriesOf(`${topic.full} ${name}`, ["out", "acks", "backlog"]);
  const rates = chart("Messages a second", [{ name: "delivered", series: series.out, color: "var(--series-2)" }, { name: "acknowledged (entries)", series: series.acks, color: "var(--series-5)" }], { format: rate });
  const backlog = chart("Backlog", [{ name: "entries", series: series.backlog, color: "var(--series-3)" }], { format: compact });
  const sums = figures(figuresOf(null));
  const held = new Map();
  const consumers = consumersTable(topic, name, held);
  const stuck = stuckPanel(screen, { topic, name, rights, partitioned });
  const strip = ackStrip();
  const ring = hashRing();
  const ringCard = card("Keys", { note: "Key_Shared: each consumer has the keys whose hashes are in its ranges. Draining: a former owner still has to acknowledge some." }, ring.element);
  ringCard.classList.add("hidden");
  const properties = h("div", { class: "body" });
  const propertiesCard = card("Properties", {}, properties);

  await watchTopic(screen, topic, partitioned, (stats, settled) => {
    const own = stats.subscriptions[name];
    if (!own) {
      screen.state("lost", "The subscription is gone");
      return;
    }
    const state = stateOf(own);
    put(badges, badge(state.text, state.tone, { dot: true, title: state.why }), own.type !== "None" && badge(own.type), own.isDurable === false && badge("reader"), own.keySharedMode && badge(own.keySharedMode));
    if (settled) {
      series.out.add(own.msgRateOut);
      series.acks.add(own.messageAckRate);
    }
    series.backlog.add(own.msgBacklog);
    rates.draw();
    backlog.draw();
    sums.update(figuresOf(own));
    consumers.update(own.consumers.map((each) => ({ stats: each, active: each.consumerName === own.activeConsumerName })));
    const shared = own.type === "Key_Shared" && !partitioned;
    ringCard.classList.toggle("hidden", !shared);
    if (shared) ring.update(own.consumers);
    void stuck.update(state.tone === "bad");
    propertiesCard.classList.toggle("hidden", !Object.keys(own.subscriptionProperties ?? {}).length);
    put(properties, facts(Object.entries(own.subscriptionProperties ?? {})));
  });

  let stripCard = null;
  if (topic.persistent && !partitioned) {
    stripCard = card("Acknowledged", { note: "The newest part of the log, from just before the mark to its end." }, strip.element);
    await every(screen, 2_000, async () => {
      const [internal, cursor] = await Promise.all([
        get(`${topic.path}/internalStats`, { signal: screen.signal }),
        get(`${subscriptionPath(topic, name)}/cursor`, { signal: screen.signal }),
      ]);
      const log = new Log(internal);
      for (const each of cursor.consumers) held.set(`${each.consumerName} ${each.address.replace(/^\//, "")}`, each);
      strip.update({
        mark: log.through(position(cursor.markDeletePosition)),
        read: Math.max(0, log.through({ ...position(cursor.readPosition), entry: position(cursor.readPosition).entry - 1 })),
        length: log.length,
        ranges: ackedRanges(cursor.acknowledgedRanges, log),
        all: cursor.acknowledgedRangesCount,
        position: (index) => positionText(log.at(index)),
      });
    });
  }

  return [
    head(name, { badges, said: h("span", null, "Subscription of ", h("a", { href: link.topic(topic) }, topic.local)), actions: subscriptionActions(screen, { topic, name, rights, partitioned }) }),
    stuck.element,
    sums.element,
    h("div", { class: "grid" }, card("Messages a second", {}, rates.element), card("Backlog", {}, backlog.element)),
    card("Consumers", {}, consumers.element),
    stripCard,
    ringCard,
    propertiesCard,
  ].filter(Boolean);
}

function figuresOf(own) {
  if (!own) return ["Backlog", "Unacknowledged", "Delayed", "To redeliver", "Delivered", "Acknowledged", "Expired"].map((label) => [label, "–"]);
  return [
    ["Backlog", compact(own.msgBacklog), own.msgBacklog === 1 ? "entry" : "entries", own.backlogSize >= 0 ? `about ${bytes(own.backlogSize)}` : ""],
    ["Unacknowledged", compact(own.unackedMessages), "", own.blockedSubscriptionOnUnackedMsgs ? "at the limit: blocked" : `last ack ${ago(own.lastAckedTimestamp)}`],
    ["Delayed", compact(own.msgDelayed), "", own.msgDelayed ? "not due yet" : ""],
    ["To redeliver", compact(own.msgInReplay), "", `${rate(own.msgRateRedeliver)} /s again`],
    ["Delivered", rate(own.msgRateOut), "/s", `${compact(own.msgOutCounter)} in all`],
    ["Acknowledged", rate(own.messageAckRate), own.type.endsWith("Shared") ? "messages/s" : "entries/s", `mark moved ${ago(own.lastMarkDeleteAdvancedTimestamp)}`],
    ["Expired", compact(own.totalMsgExpired), "", own.lastExpireTimestamp ? ago(own.lastExpireTimestamp) : ""],
  ];
}

/** ``held`` has what each consumer has and did not acknowledge, by name and address. */
function consumersTable(topic, name, held) {
  const heldBy = ({ stats }) => held.get(`${stats.consumerName} ${(stats.address ?? "").replace(/^\//, "")}`);
  const highest = (rows, of) => Math.max(1, ...rows.map((row) => of(row.stats)));
  const list = table("Consumers", {
    within: true,
    key: (row) => `${row.stats.consumerName} ${row.stats.address} ${row.stats.connectedSince}`,
    sort: "name",
    columns: [
      { id: "name", label: "Consumer", value: (row) => row.stats.consumerName, className: "name", cell: (row) => [
        row.stats.consumerName, " ", row.active && badge("active", "good"), row.stats.blockedConsumerOnUnackedMsgs && badge("blocked", "bad"),
        h("div", { class: "help origin" }, [(row.stats.address ?? "").replace(/^\//, ""), row.stats.clientVersion].filter(Boolean).join(" · ")),
      ] },
      { id: "out", label: "Out /s", right: true, value: (row) => row.stats.msgRateOut, cell: (row) => rate(row.stats.msgRateOut) },
      { id: "acks", label: "Acks /s", right: true, value: (row) => row.stats.messageAckRate, cell: (row) => rate(row.stats.messageAckRate) },
      { id: "permits", label: "Permits", right: true, value: (row) => row.stats.availablePermits, cell: (row) => (row.stats.availablePermits <= 0 ? h("span", { class: "bad", title: "It takes no more until it has worked off what it has" }, count(row.stats.availablePermits)) : count(row.stats.availablePermits)) },
      { id: "unacked", label: "Unacked", right: true, value: (row) => row.stats.unackedMessages, cell: (row) => (row.stats.unackedMessages === 0 ? "0" : bar(row.stats.unackedMessages / highest(list.rows(), (stats) => stats.unackedMessages), compact(row.stats.unackedMessages), row.stats.blockedConsumerOnUnackedMsgs ? "bad" : "")) },
      { id: "oldest", label: "Oldest held", right: true, value: (row) => heldBy(row)?.oldestPendingSeconds ?? 0, cell: (row) => { const age = heldBy(row)?.oldestPendingSeconds; return age === undefined || age === null ? h("span", { class: "faint" }, "–") : h("span", { class: age > 30 ? "warn" : undefined, title: heldBy(row).oldestPending ?? "" }, duration(age)); } },
      { id: "redelivered", label: "Again /s", right: true, value: (row) => row.stats.msgRateRedeliver, cell: (row) => rate(row.stats.msgRateRedeliver) },
      { id: "acked", label: "Last ack", right: true, value: (row) => row.stats.lastAckedTimestamp, cell: (row) => h("span", { class: "muted" }, ago(row.stats.lastAckedTimestamp)) },
      { id: "received", label: "Last delivery", right: true, value: (row) => row.stats.lastConsumedTimestamp, cell: (row) => h("span", { class: "muted" }, ago(row.stats.lastConsumedTimestamp)) },
      { id: "since", label: "Since", right: true, value: (row) => row.stats.connectedSince ?? "", cell: (row) => h("span", { class: "muted" }, duration((Date.now() - Date.parse(row.stats.connectedSince)) / 1000)) },
    ],
    whenEmpty: () => empty("Nobody is connected", "The subscription keeps its place. Receive what waits:", { command: `magnetar consume ${topic.full} -s ${name} -n 0` }),
  });
  return list;
}
