// What a topic stores: its ledgers, and the cursors in them.

import { get } from "../api.js";
import { h } from "../dom.js";
import { bytes, count } from "../format.js";
import { every } from "../live.js";
import { Log, position } from "../log.js";
import { link } from "../names.js";
import { bar } from "../ui/chart.js";
import { badge, card, figures } from "../ui/parts.js";
import { table } from "../ui/table.js";

export async function storageTab(screen, { topic }) {
  const rows = (internal) => [
    ["Entries", internal ? count(internal.numberOfEntries) : "–"],
    ["Size", internal ? bytes(internal.totalSize) : "–"],
    ["Ledgers", internal ? count(internal.ledgers.length) : "–"],
    ["Last entry", internal ? internal.lastConfirmedEntry : "–"],
    ["Compacted", internal ? (internal.compactedLedger.ledgerId < 0 ? "never" : `${count(internal.compactedLedger.entries)}`) : "–", internal?.compactedLedger.ledgerId >= 0 ? "entries" : ""],
  ];
  const sums = figures(rows(null));
  const ledgers = table("Ledgers", {
    key: (row) => row.id,
    sort: "id",
    descending: true,
    rowsMax: 200,
    columns: [
      { id: "id", label: "Ledger", value: (row) => row.id, className: "name" },
      { id: "state", label: "State", cell: (row) => (row.open ? badge("open", "good", { dot: true }) : badge("sealed")) },
      { id: "entries", label: "Entries", right: true, value: (row) => row.entries, cell: (row) => count(row.entries) },
      { id: "size", label: "Size", right: true, value: (row) => row.size, cell: (row) => bytes(row.size) },
      { id: "offloaded", label: "Copy", cell: (row) => (row.offloaded ? [badge("offloaded", "accent"), " ", h("span", { class: "muted mono wrap" }, row.copy?.name ?? "")] : h("span", { class: "faint" }, "here only")) },
    ],
  });
  const cursors = table("Cursors", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Cursor", value: (row) => row.name, className: "name", cell: (row) => (row.own ? row.name : h("a", { href: link.subscription(topic, row.name) }, row.name)) },
      { id: "mark", label: "Mark-delete", cell: (row) => h("span", { class: "mono" }, row.cursor.markDeletePosition) },
      { id: "read", label: "Reads next", cell: (row) => h("span", { class: "mono" }, row.cursor.readPosition) },
      { id: "behind", label: "Since the mark", right: true, value: (row) => row.cursor.numberOfEntriesSinceFirstNotAckedMessage, cell: (row) => count(row.cursor.numberOfEntriesSinceFirstNotAckedMessage) },
      { id: "holes", label: "Acknowledged ranges", right: true, value: (row) => row.ranges, cell: (row) => count(row.ranges) },
      { id: "through", label: "Through the log", cell: (row) => bar(row.share, `${Math.floor(row.share * 100)} %`) },
    ],
  });
  await every(screen, 5_000, async () => {
    const internal = await get(`${topic.path}/internalStats`, { signal: screen.signal });
    const log = new Log(internal);
    sums.update(rows(internal));
    ledgers.update(internal.ledgers.map((each, index) => {
      const open = each.entries === 0 && index === internal.ledgers.length - 1;
      return { id: each.ledgerId, open, entries: open ? internal.currentLedgerEntries : each.entries, size: open ? internal.currentLedgerSize : each.size, offloaded: each.offloaded, copy: each.copy };
    }));
    cursors.update(Object.entries(internal.cursors).map(([encoded, cursor]) => {
      const name = decodeURIComponent(encoded.replaceAll("+", " "));
      return { name, cursor, own: /^(pulsar\.dedup|__compaction)$/.test(name), ranges: cursor.totalNonContiguousDeletedMessagesRange, share: log.length ? log.through(position(cursor.markDeletePosition)) / log.length : 1 };
    }));
  });
  return h("div", { class: "stack" }, sums.element,
    card("Cursors", { note: "Where each subscription is: everything up to the mark is acknowledged, and ranges beyond it." }, cursors.element),
    card("Ledgers", { note: "A topic is a row of ledgers: the last takes what is published, the others are sealed." }, ledgers.element));
}
