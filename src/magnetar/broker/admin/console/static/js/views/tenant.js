// One tenant: its administrators, and its namespaces.

import { get, post, put, remove } from "../api.js";
import { h } from "../dom.js";
import { compact, plural } from "../format.js";
import { topicsOf } from "../inventory.js";
import { each } from "../live.js";
import { enc, flaw, link, namespacePath } from "../names.js";
import { rightsFor } from "../rights.js";
import { go } from "../router.js";
import { ask, confirm } from "../ui/dialog.js";
import { field, number, text } from "../ui/forms.js";
import { badge, button, card, empty, head } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { mayNot, openByName } from "./may_not.js";
import { editTenant } from "./tenants.js";

export async function show(screen) {
  const { tenant } = screen.params;
  screen.crumbs(["Tenants", "#/tenants"], [tenant]);
  const rights = await rightsFor({ tenant });
  if (rights.admin) {
    return [head(tenant), mayNot(rights.role, `see the tenant ${tenant}`, "only its administrators may, and superusers. What you have a right in opens by its name"), openByName()];
  }
  const [info, names] = await Promise.all([
    get(`tenants/${enc(tenant)}`, { signal: screen.signal }).catch((error) => { if (error.status === 403) return null; throw error; }),
    get(`namespaces/${enc(tenant)}`, { signal: screen.signal }),
  ]);
  const rows = names.map((full) => ({ full, name: full.split("/")[1], topics: NaN, partitioned: 0 }));
  const list = table(`Namespaces of ${tenant}`, {
    key: (row) => row.full,
    sort: "name",
    columns: [
      { id: "name", label: "Namespace", value: (row) => row.name, cell: (row) => h("a", { href: link.namespace(tenant, row.name) }, row.name), className: "name" },
      { id: "topics", label: "Topics", right: true, value: (row) => row.topics || 0, cell: (row) => compact(row.topics) },
      { id: "partitioned", label: "of which partitioned", right: true, value: (row) => row.partitioned, cell: (row) => compact(row.partitioned) },
      { id: "see", label: "", said: "Parts", cell: (row) => h("span", { class: "row" }, ["policies", "permissions"].map((tab) => h("a", { href: link.namespace(tenant, row.name, tab), class: "muted" }, tab))) },
      { id: "actions", label: "", className: "right fit", cell: (row) => button("", () => eraseNamespace(tenant, row.name).then((gone) => gone && screen.reload()), { kind: "quiet", small: true, glyph: "trash", label: `Delete ${row.full}`, refused: rights.admin }) },
    ],
    whenEmpty: () => empty("No namespaces yet", "A namespace has topics, and the policies that hold for them.", { command: `magnetar admin namespaces create ${tenant}/events` }),
  });
  list.update(rows);
  void each(rows, async (row) => {
    const topics = await topicsOf(row.full, screen.signal);
    row.topics = topics.size;
    row.partitioned = [...topics.values()].filter((count) => count >= 0).length;
    list.update(rows);
  }, { signal: screen.signal });

  const actions = [
    button("Edit", async () => {
      const changed = await editTenant(`Edit ${tenant}`, tenant, info, (_, sent) => post(`tenants/${enc(tenant)}`, sent));
      if (changed) screen.reload();
    }, { glyph: "edit", refused: rights.superuser || (info ? "" : "You may not see this tenant's administrators") }),
    button("New namespace", () => make(tenant, screen), { kind: "primary", glyph: "plus", refused: rights.admin }),
  ];
  const badges = (info?.adminRoles ?? []).map((role) => badge(role, "", { title: "administrator" }));
  return [
    head(tenant, { badges, said: info ? `Lives in ${info.allowedClusters.join(", ")}. ${info.adminRoles.length ? "Its administrators are beside its name." : "Superusers administer it."}` : "", actions }),
    card("Namespaces", {}, list.element),
  ];
}

async function make(tenant, screen) {
  const name = text("namespace", { required: true });
  const bundles = number("bundles", { min: 1, max: 1024, placeholder: "4" });
  const made = await ask(`New namespace in ${tenant}`, {
    verb: "Create",
    fill: () => [field("Name", name), field("Bundles", bundles, "Parts that brokers of a cluster share among themselves; empty: the broker's default")],
    act: async () => {
      const wrong = flaw(name.value.trim(), "namespace");
      if (wrong) throw new Error(wrong);
      await put(namespacePath(tenant, name.value.trim()), bundles.value ? { bundles: { numBundles: Number(bundles.value) } } : undefined);
      return name.value.trim();
    },
    done: (it) => `${tenant}/${it} is there`,
  });
  if (made && !screen.signal.aborted) go(link.namespace(tenant, made));
}

export async function eraseNamespace(tenant, name) {
  const topics = await topicsOf(`${tenant}/${name}`);
  return confirm(`Delete the namespace ${tenant}/${name}`, {
    said: topics.size ? `It has ${plural(topics.size, "topic")}, which must be deleted first: the broker will refuse.` : "It has no topics. Its policies and permissions go with it.",
    typed: name, verb: "Delete", done: `${tenant}/${name} is deleted`,
    act: () => remove(namespacePath(tenant, name)),
  });
}
