// Topics, of one namespace or of all: found, sorted, made and deleted.

import { find, get, put, remove } from "../api.js";
import { h } from "../dom.js";
import { bytes, compact, plural, rate } from "../format.js";
import { namespacesSeen, topicsOf } from "../inventory.js";
import { each, every } from "../live.js";
import { RateCounter } from "../rates.js";
import { flaw, link, named, topicName } from "../names.js";
import { rightsFor } from "../rights.js";
import { go, remember } from "../router.js";
import { ask, confirm } from "../ui/dialog.js";
import { check, field, number, search, select, text } from "../ui/forms.js";
import { badge, button, card, empty, head } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { mayNot, openByName } from "./may_not.js";

const EVERY_MS = 3_000;
const MEASURED_MAX = 200;
const DRAW_MS = 300;  // Figures that are there are shown while others are still asked for.

export async function show(screen) {
  screen.crumbs(["Topics"]);
  const [{ all, tenants, namespaces }, rights] = await Promise.all([namespacesSeen(screen.signal), rightsFor()]);
  const refused = (tenant) => (tenants.includes(tenant) ? "" : rights.admin);
  const home = namespaces.find((name) => name === "public/default" && !refused("public")) ?? namespaces.find((name) => !refused(name.split("/")[0])) ?? "public/default";
  const create = button("New topic", () => newTopic(...home.split("/")), { kind: "primary", glyph: "plus", refused: tenants.length ? "" : rights.admin });
  return [
    head("Topics", { said: all ? "Those of all namespaces." : "Those of the namespaces that you may see.", actions: [create] }),
    namespaces.length === 0 && !all && mayNot(rights.role, "list topics", "you have neither the permission to produce nor that to consume in any whole namespace, which the administrator of a tenant grants. What you have a right in opens by its name"),
    (namespaces.length > 0 || all) && await topicsCard(screen, { namespaces, refused: (topic) => refused(topic.tenant), full: true }),
    !all && openByName(),
  ].filter(Boolean);
}

/** The table of topics. ``refused(topic)`` is why it may not be changed; ``full`` names have their namespace. */
export async function topicsCard(screen, { namespaces, refused, full = false }) {
  const rates = new RateCounter();
  const rows = new Map();
  const wanted = { text: screen.query.get("find") ?? "", system: screen.query.get("system") === "true" };
  const cell = (what, write) => (row) => (row.stats ? write(what(row)) : "");
  const list = table("Topics", {
    key: (row) => row.topic.full,
    sort: "name",
    columns: [
      { id: "name", label: "Topic", value: (row) => row.shown, className: "name", cell: (row) => h("span", { class: "row" }, h("a", { href: link.topic(row.topic) }, row.shown), !row.topic.persistent && badge("non-persistent"), row.partitions >= 0 && badge(row.partitions ? plural(row.partitions, "partition") : "partitioned", "accent"), row.stuck && badge("stuck", "bad", { dot: true, title: row.stuck })) },
      { id: "in", label: "In /s", right: true, value: (row) => row.in || 0, cell: cell((row) => row.in, rate) },
      { id: "out", label: "Out /s", right: true, value: (row) => row.out || 0, cell: cell((row) => row.out, rate) },
      { id: "producers", label: "Producers", right: true, value: (row) => row.producers ?? -1, cell: cell((row) => row.producers, compact) },
      { id: "subscriptions", label: "Subscriptions", right: true, value: (row) => row.subscriptions ?? -1, cell: cell((row) => row.subscriptions, compact) },
      { id: "backlog", label: "Backlog", right: true, value: (row) => row.backlog ?? -1, cell: cell((row) => row.backlog, compact) },
      { id: "storage", label: "Stored", right: true, value: (row) => row.storage ?? -1, cell: cell((row) => row.storage, (n) => (n ? bytes(n) : "0")) },
      { id: "actions", label: "", className: "right fit", cell: (row) => button("", () => eraseTopic(row.topic, row.partitions).then((gone) => gone && refresh()), { kind: "quiet", small: true, glyph: "trash", label: `Delete ${row.topic.local}`, refused: refused(row.topic) }) },
    ],
    whenEmpty: () => (wanted.text
      ? empty("No topic has such a name", `Nothing here has “${wanted.text}” in its name.`)
      : empty("No topics yet", "A topic is there as soon as somebody uses it. Publish a first message:", { command: `magnetar produce ${namespaces[0] === "public/default" || !namespaces[0] ? "" : `persistent://${namespaces[0]}/`}hello -m "Hello, Magnetar"` })),
  });

  function take(topic, partitions, stats) {
    const row = rows.get(topic.full);
    const subscriptions = Object.values(stats.subscriptions);
    const now = performance.now();
    Object.assign(row, {
      stats: true,
      partitions: stats.metadata?.partitions ?? partitions,  // Those that nobody uses are not listed.
      in: rates.rate(`in ${topic.full}`, stats.msgInCounter, now),
      out: rates.rate(`out ${topic.full}`, stats.msgOutCounter, now),
      producers: stats.publishers.length,
      subscriptions: subscriptions.length,
      backlog: subscriptions.reduce((most, each) => most + each.msgBacklog, 0),
      storage: stats.storageSize,
      stuck: subscriptions.find((each) => each.blockedSince)?.blockedReason ?? "",
    });
    if (Number.isNaN(row.in)) Object.assign(row, { in: stats.msgRateIn, out: stats.msgRateOut });
  }

  const shownRows = () => {
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    return [...rows.values()].filter((row) => words.every((each) => row.topic.full.toLowerCase().includes(each)));
  };
  const draw = () => list.update(shownRows());

  async function refresh() {
    const found = new Map();
    await each(namespaces, async (name) => {
      for (const [topic, partitions] of await topicsOf(name, screen.signal, wanted)) found.set(topic, partitions);
    }, { signal: screen.signal });
    for (const name of [...rows.keys()]) if (!found.has(name)) rows.delete(name);
    for (const [name, partitions] of found) {
      const topic = topicName(name);
      const row = rows.get(name) ?? { topic, shown: full ? `${topic.tenant}/${topic.namespace}/${topic.local}` : topic.local, stats: false, in: NaN, out: NaN };
      rows.set(name, Object.assign(row, { partitions: partitions < 0 ? partitions : Math.max(partitions, row.partitions ?? 0) }));
    }
    draw();
    let drawnAt = performance.now();
    await each(shownRows().slice(0, MEASURED_MAX), async ({ topic, partitions }) => {
      const path = partitions >= 0 ? "partitioned-stats?perPartition=false" : "stats?subscriptionBacklogSize=false";
      take(topic, partitions, await get(`${topic.path}/${path}`, { signal: screen.signal }));
      if (performance.now() > drawnAt + DRAW_MS) { draw(); drawnAt = performance.now(); }
    }, { signal: screen.signal });
    draw();
  }

  void every(screen, EVERY_MS, refresh).catch(() => {});
  const finder = search("Filter by name", (value) => { wanted.text = value; remember(new URLSearchParams({ find: value })); draw(); }, wanted.text);
  const system = check("System topics", "system", wanted.system, { onchange: (event) => { wanted.system = event.target.checked; void refresh(); } });
  return card("", { label: "Topics" }, h("header", null, h("div", { class: "toolbar", style: { flex: "1" } }, finder, system)), list.element);
}

export async function newTopic(tenant, namespace) {
  const where = text("namespace", { value: `${tenant}/${namespace}` });
  const name = text("topic", { required: true });
  const domain = select("domain", [["persistent", "persistent: kept until acknowledged"], ["non-persistent", "non-persistent: delivered now or never"]], "persistent");
  const partitions = number("partitions", { min: 0, value: 0 });
  const made = await ask("New topic", {
    verb: "Create",
    fill: () => [field("Name", name), field("Namespace", where), h("div", { class: "fields" }, field("Domain", domain), field("Partitions", partitions, "0: one topic without partitions"))],
    act: async () => {
      const wrong = flaw(name.value.trim(), "topic");
      if (wrong) throw new Error(wrong);
      const [t, n] = where.value.trim().split("/");
      const topic = named(domain.value, t, n ?? "", name.value.trim());
      if (Number(partitions.value) > 0) await put(`${topic.path}/partitions`, Number(partitions.value));
      else await put(topic.path);
      return topic;
    },
    done: (topic) => `${topic.local} is there`,
  });
  if (made) go(link.topic(made));
}

/** Deletes after its name was typed. Says before who uses it, and what goes with it. */
export async function eraseTopic(topic, partitions = -1) {
  const stats = await find(`${topic.path}/${partitions >= 0 ? "partitioned-stats?perPartition=false" : "stats"}`);
  const subscriptions = Object.entries(stats?.subscriptions ?? {});
  const users = (stats?.publishers.length ?? 0) + subscriptions.reduce((sum, [, each]) => sum + each.consumers.length, 0);
  const backlog = subscriptions.reduce((sum, [, each]) => sum + each.msgBacklog, 0);
  const force = check("Delete it although it is in use: its clients are disconnected", "force");
  return confirm(`Delete ${topic.local}`, {
    said: [
      partitions >= 0 ? `All ${plural(partitions, "partition")} go with it` : "It goes",
      stats ? `, with ${bytes(stats.storageSize)} of messages and ${plural(subscriptions.length, "subscription")} that still ${subscriptions.length === 1 ? "has" : "have"} ${plural(backlog, "entry", "entries")} to deliver` : "",
      users ? `. ${plural(users, "producer or consumer", "producers and consumers")} use it now.` : ". Nobody uses it now.",
    ].join(""),
    details: users > 0 && force,
    typed: topic.local, verb: "Delete", done: `${topic.local} is deleted`,
    act: () => remove(`${topic.path}${partitions >= 0 ? "/partitions" : ""}${force.querySelector("input").checked ? "?force=true" : ""}`),
  });
}
