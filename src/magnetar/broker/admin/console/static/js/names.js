// Names of topics, and the paths of the REST API and of this console's screens made of them.

export const enc = encodeURIComponent;

/** The parts of persistent://tenant/namespace/local. */
export function topicName(full) {
  const [domain, rest] = full.split("://");
  const [tenant, namespace, ...local] = rest.split("/");
  return named(domain, tenant, namespace, local.join("/"));
}

export function named(domain, tenant, namespace, local) {
  const found = /^(.*)-partition-(\d+)$/.exec(local);
  return {
    domain,
    tenant,
    namespace,
    local,
    full: `${domain}://${tenant}/${namespace}/${local}`,
    persistent: domain === "persistent",
    base: found ? found[1] : local,
    partition: found ? Number(found[2]) : -1,
    path: `${domain}/${enc(tenant)}/${enc(namespace)}/${enc(local)}`,
    schemas: `schemas/${enc(tenant)}/${enc(namespace)}/${enc(found ? found[1] : local)}`,
  };
}

export const namespacePath = (tenant, namespace) => `namespaces/${enc(tenant)}/${enc(namespace)}`;
export const subscriptionPath = (topic, name) => `${topic.path}/subscription/${enc(name)}`;

/** Where a screen is: link("topic", topic, "messages"). */
export const link = {
  tenant: (tenant) => `#/tenants/${enc(tenant)}`,
  namespace: (tenant, namespace, tab = "") => `#/namespaces/${enc(tenant)}/${enc(namespace)}${tab ? `/${tab}` : ""}`,
  topic: (topic, tab = "") => `#/topics/${topic.path}${tab ? `/${tab}` : ""}`,
  subscription: (topic, name) => `#/topics/${topic.path}/subscription/${enc(name)}`,
};

/** What a tenant, namespace, topic or subscription may not be called; "" where it may. */
export function flaw(name, what) {
  if (!name) return `A ${what} needs a name`;
  if (what !== "topic" && !/^[\w\-=:.%]+$/.test(name)) return `Letters, digits and - _ = : . % only`;
  return "";
}
