// Brokers: health, transactions, what holds of their configuration, and what may change while they run.

import { find, get, post, remove, send } from "../api.js";
import { h } from "../dom.js";
import { duration, plural } from "../format.js";
import { enc, link, topicName } from "../names.js";
import { rightsFor } from "../rights.js";
import { ask, confirm } from "../ui/dialog.js";
import { field, search, text } from "../ui/forms.js";
import { badge, button, card, facts, head, notice, tabs } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { carried } from "./carried.js";
import { storesTab } from "./stores.js";

const TABS = [["", "Brokers"], ["stores", "Stores"], ["transactions", "Transactions"], ["dynamic", "Dynamic configuration"], ["configuration", "All settings"]];

export async function show(screen) {
  const { tab = "" } = screen.params;
  screen.crumbs(["Brokers"]);
  const rights = await rightsFor({});
  return [
    head("Brokers"),
    tabs("Parts", TABS.map(([name, label]) => [`#/brokers${name ? `/${name}` : ""}`, label, name === tab])),
    await { "": brokers, stores: storesTab, transactions, dynamic, configuration }[tab](screen, rights),
  ];
}

const said = async (path, signal) => {
  try {
    return String((await (await send("GET", path, { signal, accept: "*/*" })).text()).trim());
  } catch (error) {
    return error.status === 403 ? "" : error.message;
  }
};

async function brokers(screen, rights) {
  const { signal } = screen;
  const [names, leader, health, ready, version, clusters, internal] = await Promise.all([
    get("brokers", { signal }).catch((error) => { if (error.status === 403) return []; throw error; }),
    find("brokers/leaderBroker", { signal }), said("brokers/health", signal), said("brokers/ready", signal), said("brokers/version", signal),
    find("clusters", { signal }), find("brokers/internal-configuration", { signal }),
  ]);
  const cards = await carried(screen, rights, (name) => said(`brokers/health?brokerId=${enc(name)}`, signal));
  const state = (text) => text ? badge(text, text === "ok" ? "good" : "bad", { dot: true }) : "only superusers are told";
  const list = table("Brokers", {
    key: (row) => row,
    columns: [
      { id: "name", label: "Broker", className: "name", cell: (row) => [row, " ", row === leader?.brokerId && badge("leader", "accent")] },
      { id: "health", label: "Health", cell: () => state(health) },
      { id: "ready", label: "Ready", cell: () => state(ready) },
      { id: "version", label: "Version", cell: () => version },
    ],
  });
  list.update(names.length ? names : [leader?.brokerId ?? location.host]);
  const infos = await Promise.all((clusters ?? []).map(async (name) => [name, await find(`clusters/${enc(name)}`, { signal })]));
  const all = table("Clusters", {
    key: ([name]) => name,
    columns: [
      { id: "name", label: "Cluster", className: "name", cell: ([name]) => name },
      { id: "service", label: "Clients connect to", cell: ([, info]) => h("span", { class: "mono" }, info?.brokerServiceUrlTls || info?.brokerServiceUrl || "") },
      { id: "web", label: "Administrators ask", cell: ([, info]) => h("span", { class: "mono" }, info?.serviceUrlTls || info?.serviceUrl || "") },
    ],
  });
  all.update(infos);
  return h("div", { class: "stack" }, ...(cards ?? [card("Brokers", {}, list.element)]), infos.length > 0 && card("Clusters", {}, all.element),
    internal && card("Where metadata is", {}, h("div", { class: "body" }, facts(Object.entries(internal)))));
}

const TRANSACTIONS = "/admin/v3/transactions";

/** Coordinators, and the transactions that have not ended, with what waits for them: topics from a position on, and subscriptions. */
async function transactions(screen, rights) {
  const { signal } = screen;
  let stats;
  let open;
  try {
    [stats, open] = await Promise.all([get(`${TRANSACTIONS}/coordinatorStats`, { signal }), get(`${TRANSACTIONS}/slowTransactions/0`, { signal })]);
  } catch (error) {
    if (![403, 503].includes(error.status)) throw error;
    return notice("", error.message);
  }
  const all = table("Coordinators", {
    key: ([number]) => number,
    columns: [
      { id: "number", label: "Coordinator", className: "name", cell: ([number]) => number },
      { id: "open", label: "Not ended", className: "right", cell: ([, one]) => one.ongoingTxnSize },
      { id: "last", label: "Last", className: "right", cell: ([, one]) => one.leastSigBits },
      { id: "ended", label: "All ended up to", className: "right", cell: ([, one]) => one.lowWaterMark },
    ],
  });
  all.update(Object.entries(stats));
  const place = (name) => h("a", { href: link.topic(topicName(name)) }, topicName(name).local);
  const held = (one) => [
    ...Object.entries(one.producedPartitions).map(([name, { startPosition }]) => h("div", null, place(name), startPosition ? ` from ${startPosition} on` : "")),
    ...Object.entries(one.ackedPartitions).flatMap(([name, names]) => Object.keys(names).map((each) => h("div", null, place(name), ` ${each}`))),
  ];
  const end = async (one) => {
    const [most, least] = one.txnId.slice(1, -1).split(",");
    const done = await confirm(`Abort ${one.txnId}`, {
      said: "Nothing of it happens: what it published is never delivered, and what it acknowledged comes again.",
      verb: "Abort",
      act: () => post(`${TRANSACTIONS}/abortTransaction/${most}/${least}`),
      done: `${one.txnId} is aborted`,
    });
    if (done) screen.reload();
  };
  const list = table("Transactions", {
    key: (one) => one.txnId,
    columns: [
      { id: "id", label: "Transaction", className: "name", cell: (one) => h("span", { class: "mono" }, one.txnId) },
      { id: "state", label: "State", cell: (one) => badge(one.status.toLowerCase(), one.status === "OPEN" ? "accent" : "warn") },
      { id: "age", label: "Open for", className: "right", cell: (one) => duration((Date.now() - one.openTimestamp) / 1000) },
      { id: "limit", label: "At most", className: "right", cell: (one) => duration(one.timeoutAt / 1000) },
      { id: "holds", label: "Holds up", cell: held },
      { id: "abort", label: "", className: "right fit", cell: (one) => button("Abort", () => end(one), { kind: "danger", small: true, refused: rights.superuser }) },
    ],
  });
  const found = Object.values(open).sort((one, other) => one.openTimestamp - other.openTimestamp);
  list.update(found);
  return h("div", { class: "stack" }, card("Coordinators", {}, all.element), card("Transactions that have not ended", { note: plural(found.length, "transaction") }, list.element));
}

async function dynamic(screen, rights) {
  const { signal } = screen;
  let names;
  try {
    names = await get("brokers/configuration", { signal });
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    return notice("warn", error.message);
  }
  const [values, runtime] = await Promise.all([find("brokers/configuration/values", { signal }), find("brokers/configuration/runtime", { signal })]);
  const rows = names.map((name) => ({ name, set: values?.[name], holds: values?.[name] ?? runtime?.[name] ?? "" }));
  let words = "";
  const list = table("Dynamic configuration", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Setting", value: (row) => row.name, className: "name", cell: (row) => h("span", { class: "mono" }, row.name) },
      { id: "value", label: "Value", value: (row) => row.holds, cell: (row) => (row.holds ? h("span", { class: "mono wrap" }, row.holds) : h("span", { class: "faint" }, "–")) },
      { id: "from", label: "From", cell: (row) => (row.set === undefined ? badge("configuration") : badge("set while running", "accent")) },
      { id: "edit", label: "", className: "right fit", cell: (row) => button("", () => edit(row, screen), { kind: "quiet", small: true, glyph: "edit", label: `Change ${row.name}`, refused: rights.superuser }) },
    ],
  });
  const draw = () => list.update(rows.filter((row) => row.name.toLowerCase().includes(words)));
  draw();
  return card("", { label: "Dynamic configuration" }, h("header", null, search("Filter settings", (value) => { words = value.toLowerCase(); draw(); }), h("span", { class: "muted" }, "What may change while the brokers of the cluster run. It outlives a restart.")), list.element);
}

async function edit(row, screen) {
  const input = text("value", { value: row.holds });
  const path = `brokers/configuration/${enc(row.name)}`;
  let removed = false;
  const done = await ask(row.name, {
    fill: (form, { dialog }) => [field("Value", input), row.set !== undefined && button("Remove, so that the configuration's holds", async () => { await remove(path); removed = true; dialog.close(); }, { kind: "danger", small: true, glyph: "trash" })],
    act: () => post(`${path}/${enc(input.value)}`),
    done: `${row.name} is changed`,
  });
  if (done || removed) screen.reload();
}

async function configuration({ signal }) {
  let runtime;
  try {
    runtime = await get("brokers/configuration/runtime", { signal });
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    return notice("warn", error.message);
  }
  const rows = Object.entries(runtime).map(([name, value]) => ({ name, value }));
  const list = table("All settings", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Setting", value: (row) => row.name, className: "name", cell: (row) => h("span", { class: "mono" }, row.name) },
      { id: "value", label: "Value", value: (row) => String(row.value), cell: (row) => h("span", { class: "mono wrap" }, String(row.value)) },
    ],
    rowsMax: 1000,
  });
  list.update(rows);
  return card("", { label: "All settings" }, h("header", null, search("Filter settings", (value) => list.update(rows.filter((row) => row.name.toLowerCase().includes(value.toLowerCase()))))), list.element);
}
