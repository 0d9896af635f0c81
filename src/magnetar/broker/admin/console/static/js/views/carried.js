// What each broker of a cluster carries, and why: bundles are moved, split and unloaded here, and a broker is drained.

import { find, post, put } from "../api.js";
import { h } from "../dom.js";
import { ago, bytes, compact, plural, rate, time } from "../format.js";
import { every } from "../live.js";
import { enc, link, namespacePath } from "../names.js";
import { ask, confirm } from "../ui/dialog.js";
import { field, menu, search, select } from "../ui/forms.js";
import { badge, button, card } from "../ui/parts.js";
import { table } from "../ui/table.js";

const PATH = "magnetar/brokers";
const EVERY_MS = 5_000;
const TONES = { owned: "good", acquiring: "warn", unloading: "warn", lost: "bad" };
const faint = (text) => h("span", { class: "faint" }, text);
const bundlePath = (row) => `${namespacePath(...row.namespace.split("/"))}/${row.range}`;
const sum = (row, key) => row.bundles.reduce((total, each) => total + (each[key] ?? 0), 0);
const used = (row, key) => { const it = row.report?.[key]; return it?.limit ? it.usage / it.limit : undefined; };
const percent = (share) => (share === undefined ? faint("–") : `${(share * 100).toFixed(0)} %`);

/** The cards; null for who may not see them. ``health(name)`` brings the word of a broker's health check. */
export async function carried(screen, rights, health) {
  let found = await find(PATH, { signal: screen.signal });
  if (found === null) return null;
  let words = "";
  const brokers = () => found.filter((each) => !each.error).map((each) => each.broker);
  const said = new Map(await Promise.all(found.map(async ({ broker }) => [broker, await health(broker)])));
  const state = (row) => row.error ? badge("does not answer", "bad", { dot: true, title: row.error })
    : row.leaving ? badge("drained", "warn", { dot: true })
    : said.get(row.broker) && badge(said.get(row.broker), said.get(row.broker) === "ok" ? "good" : "bad", { dot: true });

  const drain = (row) => confirm(`Drain ${row.broker}`, {
    said: `Its ${plural(row.bundles.length, "bundle")} go to the other brokers, one after the other, and it takes none until it is started again. Clients follow.`,
    verb: "Drain",
    act: () => post(`${PATH}/${enc(row.broker)}/drain`),
    done: `${row.broker} is drained`,
  }).then((done) => done && screen.reload());
  const list = table("Brokers", {
    key: (row) => row.broker,
    sort: "name",
    columns: [
      { id: "name", label: "Broker", value: (row) => row.broker, className: "name", cell: (row) => [row.broker, " ", row.leader && badge("leader", "accent")] },
      { id: "health", label: "Health", cell: (row) => state(row) ?? "" },
      { id: "bundles", label: "Bundles", right: true, value: (row) => row.bundles.length, cell: (row) => compact(row.bundles.length) },
      { id: "topics", label: "Topics open", right: true, value: (row) => sum(row, "topics"), cell: (row) => compact(sum(row, "topics")) },
      { id: "in", label: "In", right: true, value: (row) => sum(row, "msgRateIn"), cell: (row) => rate(sum(row, "msgRateIn")) },
      { id: "out", label: "Out", right: true, value: (row) => sum(row, "msgRateOut"), cell: (row) => rate(sum(row, "msgRateOut")) },
      { id: "cpu", label: "CPU", right: true, value: (row) => used(row, "cpu"), cell: (row) => percent(used(row, "cpu")) },
      { id: "memory", label: "Memory", right: true, cell: (row) => percent(used(row, "memory")) },
      { id: "looked", label: "Load seen", right: true, cell: (row) => (row.report?.lastUpdate ? ago(row.report.lastUpdate) : faint("–")) },
      { id: "version", label: "Version", cell: (row) => row.version ?? faint("–") },
      { id: "drain", label: "", className: "right fit", cell: (row) => (found.length > 1 && !row.error && !row.leaving ? button("Drain", () => drain(row), { kind: "quiet", small: true, refused: rights.superuser, label: `Drain ${row.broker}` }) : "") },
    ],
  });

  const move = async (row) => {
    const to = select("to", brokers().filter((name) => name !== row.broker).map((name) => [name, name]), "");
    const done = await ask(`Move ${row.bundle}`, {
      said: `From ${row.broker}. Its topics are closed there and open at the other broker at once; clients follow.`,
      fill: () => field("To the broker", to),
      verb: "Move",
      act: () => put(`${bundlePath(row)}/unload?destinationBroker=${enc(to.value)}`),
      done: `${row.bundle} is handed over`,
    });
    if (done) screen.reload();
  };
  const act = (row, verb, what) => confirm(`${verb} ${row.bundle}`, { said: what, verb, danger: false, act: () => put(`${bundlePath(row)}/${verb.toLowerCase()}${verb === "Split" ? "?unload=true" : ""}`), done: `${row.bundle}: done` }).then((done) => done && screen.reload());
  const bundles = table("Bundles", {
    key: (row) => row.bundle,
    sort: "in",
    descending: true,
    columns: [
      { id: "bundle", label: "Bundle", value: (row) => row.bundle, className: "name", cell: (row) => [h("a", { href: link.namespace(...row.namespace.split("/")) }, row.namespace), " ", h("span", { class: "mono" }, row.range)] },
      { id: "broker", label: "Broker", value: (row) => row.broker, cell: (row) => row.broker },
      { id: "state", label: "State", cell: (row) => [badge(row.state, TONES[row.state], { dot: true }), row.handedTo && h("div", { class: "faint" }, `to ${row.handedTo}`)] },
      { id: "why", label: "Why it is there", cell: (row) => row.why ? h("span", { title: time(row.since) }, `${row.why}, ${ago(row.since)}`) : faint("–") },
      { id: "topics", label: "Topics open", right: true, value: (row) => row.topics, cell: (row) => compact(row.topics) },
      { id: "in", label: "In", right: true, value: (row) => row.msgRateIn ?? 0, cell: (row) => [rate(row.msgRateIn ?? 0), h("div", { class: "faint" }, `${bytes(row.msgThroughputIn ?? 0)}/s`)] },
      { id: "out", label: "Out", right: true, value: (row) => row.msgRateOut ?? 0, cell: (row) => [rate(row.msgRateOut ?? 0), h("div", { class: "faint" }, `${bytes(row.msgThroughputOut ?? 0)}/s`)] },
      { id: "actions", label: "", className: "right fit", cell: (row) => row.namespace.includes(":") ? "" : menu(`Actions for ${row.bundle}`, [
        brokers().length > 1 && { text: "Move", act: () => move(row), refused: rights.superuser },
        { text: "Split", act: () => act(row, "Split", "Makes two bundles of it, which cannot be undone, and closes their topics, so that the brokers with least to do can have them."), refused: rights.superuser },
        { text: "Unload", act: () => act(row, "Unload", "Closes its topics; clients look them up again at once."), refused: rights.superuser },
      ]) },
    ],
  });
  const draw = () => {
    if (bundles.element.querySelector("[aria-expanded='true']")) return; // A menu is open, which would go.
    list.update(found);
    const rows = found.flatMap((one) => one.bundles.map((each) => ({ ...each, broker: one.broker })));
    bundles.update(rows.filter((row) => `${row.bundle} ${row.broker}`.toLowerCase().includes(words)));
  };
  draw();
  await every(screen, EVERY_MS, async () => { found = (await find(PATH, { signal: screen.signal })) ?? found; draw(); });
  return [
    card("Brokers", {}, list.element),
    card("", { label: "Bundles" }, h("header", null, h("h2", null, "Bundles"), search("Filter bundles and brokers", (value) => { words = value.toLowerCase(); draw(); }), h("span", { class: "muted" }, "Traffic as of each broker's last look at its load.")), bundles.element),
  ];
}
