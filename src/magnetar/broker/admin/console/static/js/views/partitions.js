// The partitions of a topic: listed, and more of them made.

import { post } from "../api.js";
import { h } from "../dom.js";
import { bytes, compact, rate } from "../format.js";
import { link, topicName } from "../names.js";
import { ask } from "../ui/dialog.js";
import { field, number } from "../ui/forms.js";
import { card, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

export function partitionsCard() {
  const list = table("Partitions", {
    key: (row) => row.topic.full,
    sort: "name",
    columns: [
      { id: "name", label: "Partition", value: (row) => row.topic.partition, className: "name", cell: (row) => h("a", { href: link.topic(row.topic) }, `partition ${row.topic.partition}`) },
      { id: "in", label: "In /s", right: true, value: (row) => row.stats.msgRateIn, cell: (row) => rate(row.stats.msgRateIn) },
      { id: "out", label: "Out /s", right: true, value: (row) => row.stats.msgRateOut, cell: (row) => rate(row.stats.msgRateOut) },
      { id: "producers", label: "Producers", right: true, value: (row) => row.stats.publishers.length, cell: (row) => compact(row.stats.publishers.length) },
      { id: "backlog", label: "Backlog", right: true, value: (row) => backlog(row), cell: (row) => compact(backlog(row)) },
      { id: "storage", label: "Stored", right: true, value: (row) => row.stats.storageSize, cell: (row) => bytes(row.stats.storageSize) },
    ],
    whenEmpty: () => notice("", "No partition was used so far: each is made when a client first uses it."),
  });
  return {
    element: card("Partitions", {}, list.element),
    update: (stats) => list.update(Object.entries(stats.partitions).map(([name, each]) => ({ topic: topicName(name), stats: each }))),
  };
}

const backlog = (row) => Object.values(row.stats.subscriptions).reduce((sum, each) => sum + each.msgBacklog, 0);

export function growPartitions(topic, partitions) {
  const count = number("partitions", { min: partitions + 1, value: partitions + 1 });
  return ask(`Add partitions to ${topic.local}`, {
    said: "Partitions can be added and never taken away. Keys move to other partitions, so that the order of a key holds from then on only.",
    verb: "Add",
    fill: () => field("Partitions", count, `There are ${partitions} now`),
    act: () => post(`${topic.path}/partitions`, Number(count.value)),
    done: "The partitions are there",
  });
}
