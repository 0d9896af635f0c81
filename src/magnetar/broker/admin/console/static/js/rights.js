// What who is signed in may do: where not, the reason, which disabled controls show.

import { find } from "./api.js";

const WHY = {
  superuser: "Only a superuser may do this",
  admin: "Only an administrator of the tenant may do this",
  topics: "This needs the permission to produce or to consume",
  produce: "This needs the permission to produce",
  consume: "This needs the permission to consume",
  functions: "This needs the permission for functions",
};

/** {role, superuser, admin, topics, produce, consume, functions}: "" where it is allowed at a place, or why not. */
export async function rightsFor({ tenant, namespace, topic, subscription } = {}) {
  const query = new URLSearchParams();
  if (topic) query.set("topic", topic.full);
  else if (namespace) query.set("namespace", `${tenant}/${namespace}`);
  else if (tenant) query.set("tenant", tenant);
  if (subscription) query.set("subscription", subscription);
  const rights = await find(`magnetar/rights?${query}`);
  const as = rights?.role ? `: you are ${rights.role}` : "";
  return {
    role: rights?.role ?? "",
    ...Object.fromEntries(Object.entries(WHY).map(([name, why]) => [name, rights === null || rights[name] ? "" : `${why}${as}`])),
  };
}
