// The stores of a cluster as this broker sees them: bookies, and the sessions with ZooKeeper.

import { get } from "../api.js";
import { h } from "../dom.js";
import { bytes, count, plural } from "../format.js";
import { every } from "../live.js";
import { bar } from "../ui/chart.js";
import { badge, card, figures, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

const PATH = "magnetar/stores";
const TONES = { writable: "good", connected: "good", "read-only": "warn", suspended: "warn", away: "bad", lost: "bad" };
const state = (word) => badge(word, TONES[word], { dot: true });
const ms = ({ p50, p99 }) => (p99 ? `${p50.toFixed(1)} / ${p99.toFixed(1)} ms` : "–");
const counted = (id, label, value) => ({ id, label, right: true, value, cell: (row) => count(value(row)) });

export async function storesTab(screen) {
  const load = () => get(PATH, { signal: screen.signal });
  let found;
  try {
    found = await load();
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    return notice(error.status === 404 ? "" : "warn", error.message);
  }
  const rows = ({ bookies, ensembleSize, ledgers }) => [
    ["Take writes", count(bookies.filter((each) => each.state === "writable").length), `of ${plural(bookies.length, "bookie")}`, `a ledger needs ${ensembleSize}`],
    ["Ledgers begun", count(ledgers.created)],
    ["Opened", count(ledgers.opened), "", `${count(ledgers.recovered)} had not ended`],
    ["Deleted", count(ledgers.deleted)],
    ["Bookies replaced", count(ledgers.ensembleChanges)],
  ];
  const sums = figures(rows(found));
  const bookies = table("Bookies", {
    key: (row) => row.bookieId,
    sort: "id",
    columns: [
      { id: "id", label: "Bookie", value: (row) => row.bookieId, className: "name", cell: (row) => row.bookieId },
      { id: "state", label: "State", cell: (row) => [state(row.state), row.quarantined && [" ", badge("avoided", "warn", { title: "it failed a few seconds ago" })]] },
      { id: "disk", label: "Disk", cell: (row) => (row.disk ? bar(1 - row.disk.freeBytes / row.disk.totalBytes, `${bytes(row.disk.freeBytes)} free`) : h("span", { class: "faint" }, row.error ?? "–")) },
      counted("added", "Entries", (row) => row.entriesAdded),
      { id: "add", label: "Add p50 / p99", right: true, value: (row) => row.addMs.p99, cell: (row) => ms(row.addMs) },
      { id: "read", label: "Read p50 / p99", right: true, value: (row) => row.readMs.p99, cell: (row) => ms(row.readMs) },
      counted("pending", "Under way", (row) => row.addsPending + row.readsPending),
      counted("failed", "Failed", (row) => row.addsFailed + row.readsFailed),
      counted("timeouts", "Timeouts", (row) => row.timeouts),
    ],
  });
  const sessions = table("Sessions", {
    key: (row) => row.name,
    columns: [
      { id: "servers", label: "Servers", className: "name", cell: (row) => h("span", { class: "mono" }, row.servers) },
      { id: "for", label: "For", cell: (row) => row.name },
      { id: "state", label: "State", cell: (row) => state(row.state) },
      { id: "read", label: "Read p50 / p99", right: true, cell: (row) => ms(row.readMs) },
      { id: "write", label: "Write p50 / p99", right: true, cell: (row) => ms(row.writeMs) },
      counted("again", "Connected again", (row) => row.reconnections),
      counted("lost", "Sessions lost", (row) => row.lost),
    ],
  });
  await every(screen, 5_000, async () => {
    found = found ?? await load();
    sums.update(rows(found));
    bookies.update(found.bookies);
    sessions.update(found.sessions);
    found = null;
  });
  return h("div", { class: "stack" }, sums.element,
    card("Bookies", { note: "As this broker sees them, since it began. What is sent together is timed together." }, bookies.element),
    card("ZooKeeper", {}, sessions.element));
}
