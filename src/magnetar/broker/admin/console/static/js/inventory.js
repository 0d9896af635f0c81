// Everything that there is to see: tenants, their namespaces, and the topics of these.

import { find, get } from "./api.js";
import { each } from "./live.js";
import { enc, topicName } from "./names.js";

/** Topics by full name, each with its number of partitions; partitions are not among them. */
export async function topicsOf(namespace, signal, { system = false } = {}) {
  const [tenant, name] = namespace.split("/");
  const found = new Map();
  for (const domain of ["persistent", "non-persistent"]) {
    const path = `${domain}/${enc(tenant)}/${enc(name)}`;
    const [plain, partitioned] = await Promise.all([
      get(`${path}${system ? "?includeSystemTopic=true" : ""}`, { signal }),
      find(`${path}/partitioned${system ? "?includeSystemTopic=true" : ""}`, { signal }),
    ]);
    const bases = new Set(partitioned ?? []);
    for (const base of bases) found.set(base, 0);
    for (const full of plain ?? []) {
      const topic = topicName(full);
      const base = `${topic.domain}://${topic.tenant}/${topic.namespace}/${topic.base}`;
      if (topic.partition >= 0 && bases.has(base)) found.set(base, found.get(base) + 1);
      else found.set(full, -1);
    }
  }
  return found;
}

/** {all, tenants, namespaces}: those that this role may see; ``all`` where nothing is left out. */
export const namespacesSeen = (signal) => get("magnetar/namespaces", { signal });

/** The same, with all their topics. */
export async function inventory(signal) {
  const seen = await namespacesSeen(signal);
  const lists = new Map();
  await each(seen.namespaces, async (name) => lists.set(name, await topicsOf(name, signal)), { signal });
  const topics = new Map(seen.namespaces.flatMap((name) => [...(lists.get(name) ?? [])]));
  return { ...seen, topics };
}
