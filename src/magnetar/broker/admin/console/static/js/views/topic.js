// One topic: what it does, what it stores, its messages, policies, schema and permissions.

import { find, get, post, put, remove } from "../api.js";
import { h } from "../dom.js";
import { link, named } from "../names.js";
import { rightsFor } from "../rights.js";
import { go } from "../router.js";
import { confirm } from "../ui/dialog.js";
import { menu } from "../ui/forms.js";
import { badge, button, head, notice, tabs } from "../ui/parts.js";
import { redrive } from "./again.js";
import { messagesTab } from "./messages.js";
import { permissionsCard } from "./permissions.js";
import { policiesCards } from "./policies.js";
import { publish } from "./publish.js";
import { schemaTab } from "./schema.js";
import { storageTab } from "./storage.js";
import { liveTab } from "./topic_live.js";
import { growPartitions } from "./partitions.js";
import { eraseTopic } from "./topics.js";

export async function show(screen) {
  const { domain, tenant, namespace, local, tab = "" } = screen.params;
  const topic = named(domain, tenant, namespace, local);
  const above = [["Tenants", "#/tenants"], [tenant, link.tenant(tenant)], [namespace, link.namespace(tenant, namespace)]];
  if (topic.partition >= 0) above.push([topic.base, link.topic(named(domain, tenant, namespace, topic.base))]);
  screen.crumbs(...above, [topic.partition >= 0 ? `partition ${topic.partition}` : local]);
  const [rights, metadata] = await Promise.all([
    rightsFor({ tenant, namespace, topic }),
    get(`${topic.path}/partitions`, { signal: screen.signal }),
  ]);
  const partitions = metadata.partitions;
  const context = { topic, partitions, rights, partitioned: partitions > 0 };
  const stored = topic.persistent && !context.partitioned;
  const names = [["", "Live"], topic.persistent && ["messages", "Messages"], stored && ["storage", "Storage"], ["policies", "Policies"], ["schema", "Schema"], ["permissions", "Permissions"]].filter(Boolean);
  return [
    head(local, {
      badges: [!topic.persistent && badge("non-persistent"), context.partitioned && badge(`${partitions} partitions`, "accent"), topic.partition >= 0 && badge(`partition of ${topic.base}`)],
      said: h("span", { class: "mono wrap" }, topic.full),
      actions: [
        button("Publish", () => publish(topic), { glyph: "send", refused: rights.produce }),
        topicMenu(screen, context),
      ],
    }),
    tabs("Parts of the topic", names.map(([name, text]) => [link.topic(topic, name), text, name === tab])),
    await shownTab(tab, screen, context),
  ];
}

function shownTab(tab, screen, context) {
  const { topic, rights } = context;
  switch (tab) {
    case "messages":
      return messagesTab(screen, context);
    case "storage":
      return storageTab(screen, context);
    case "policies":
      if (topic.partition >= 0) {
        const base = named(topic.domain, topic.tenant, topic.namespace, topic.base);
        return notice("", "A partition has the policies of its topic: ", h("a", { href: link.topic(base, "policies") }, topic.base));
      }
      return policiesCards(screen, { level: "topic", path: topic.path, refused: rights.admin });
    case "schema":
      return schemaTab(screen, context);
    case "permissions":
      return permissionsCard(screen, { path: topic.path, refused: rights.admin });
    case "":
      return liveTab(screen, context);
    default:
      throw new Error(`A topic has no part ${tab}`);
  }
}

function topicMenu(screen, { topic, partitions, partitioned, rights }) {
  const refused = rights.admin;
  const what = partitioned ? `all ${partitions} partitions of ${topic.local}` : topic.local;
  const act = (title, said, verb, done, work, more = {}) => confirm(title, { said, verb, done, act: work, danger: false, ...more }).then((answer) => answer && !screen.signal.aborted && screen.reload());
  return menu("More", [
    partitioned && { text: "Add partitions", glyph: "plus", refused, act: () => growPartitions(topic, partitions).then((grown) => grown && screen.reload()) },
    { text: "Unload", glyph: "refresh", refused, act: () => act(`Unload ${what}`, "Closes it. Its clients look it up again at once; nothing is lost.", "Unload", "It is unloaded", () => put(`${topic.path}/unload`)) },
    topic.persistent && { text: "Send dead letters back", glyph: "back", refused: rights.consume, act: async () => { if (await redrive(topic, partitions) && !screen.signal.aborted) screen.reload(); } },
    topic.persistent && { text: "Compact", glyph: "topics", refused, act: () => compact(topic, what) },
    topic.persistent && { text: "Terminate", glyph: "stop", danger: true, refused, act: () => act(`Terminate ${what}`, "It takes no more messages, for ever. What is stored can still be read.", "Terminate", "It is terminated", () => post(partitioned ? `${topic.path}/terminate/partitions` : `${topic.path}/terminate`), { danger: true, typed: topic.local }) },
    topic.persistent && { text: "Truncate", glyph: "trash", danger: true, refused, act: () => truncate(screen, topic, what) },
    { text: "Delete", glyph: "trash", danger: true, refused, act: async () => { if (await eraseTopic(topic, partitioned ? partitions : -1)) go(link.namespace(topic.tenant, topic.namespace)); } },
  ]);
}

async function compact(topic, what) {
  const state = await find(`${topic.path}/compaction`);
  const last = state && { NOT_RUN: "It was not compacted since it was opened.", RUNNING: "It is being compacted now.", SUCCESS: "The last compaction succeeded.", ERROR: `The last compaction failed: ${state.lastError}` }[state.status];
  return confirm(`Compact ${what}`, { said: `Makes a copy with the last message of each key, for consumers that read compacted. All messages stay. ${last ?? ""}`, verb: "Compact", danger: false, done: "The compaction has begun", act: () => put(`${topic.path}/compaction`) });
}

async function truncate(screen, topic, what) {
  const done = await confirm(`Truncate ${what}`, { said: "Every subscription goes to the end, and whatever no ledger in use holds is deleted, also what retention would keep.", typed: topic.local, verb: "Truncate", done: "It is truncated", act: () => remove(`${topic.path}/truncate`) });
  if (done) screen.reload();
}
