// All tenants, and who administers them.

import { find, put, remove } from "../api.js";
import { h } from "../dom.js";
import { namespacesSeen } from "../inventory.js";
import { each } from "../live.js";
import { enc, flaw, link } from "../names.js";
import { rightsFor } from "../rights.js";
import { go } from "../router.js";
import { ask, confirm } from "../ui/dialog.js";
import { field, text } from "../ui/forms.js";
import { badge, button, card, empty, head } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { mayNot, openByName } from "./may_not.js";

export async function show(screen) {
  screen.crumbs(["Tenants"]);
  const [rights, seen] = await Promise.all([rightsFor({}), namespacesSeen(screen.signal)]);
  const namespaces = Map.groupBy(seen.namespaces.map((full) => full.split("/")), ([tenant]) => tenant);
  const rows = [...new Set([...seen.tenants, ...namespaces.keys()])].map((name) => ({
    name, own: seen.tenants.includes(name), roles: [], clusters: [], namespaces: (namespaces.get(name) ?? []).map((parts) => parts[1]),
  }));
  await each(rows.filter((row) => row.own), async (row) => {
    const info = await find(`tenants/${enc(row.name)}`, { signal: screen.signal });
    row.roles = info?.adminRoles ?? [];
    row.clusters = info?.allowedClusters ?? [];
  }, { signal: screen.signal });

  const list = table("Tenants", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Tenant", value: (row) => row.name, cell: (row) => (row.own ? h("a", { href: link.tenant(row.name) }, row.name) : row.name), className: "name" },
      { id: "namespaces", label: "Namespaces", value: (row) => row.namespaces.length, cell: (row) => h("span", { class: "row" }, (row.own ? row.namespaces.slice(0, 6) : row.namespaces).map((name) => h("a", { href: link.namespace(row.name, name) }, name)), row.namespaces.length > 6 && row.own && h("a", { href: link.tenant(row.name), class: "muted" }, `and ${row.namespaces.length - 6} more`), row.namespaces.length === 0 && h("span", { class: "faint" }, "none")) },
      { id: "roles", label: "Administrators", cell: (row) => (row.roles.length ? row.roles.map((role) => [badge(role), " "]) : h("span", { class: "faint" }, row.own ? "superusers" : "not yours to see")) },
      { id: "clusters", label: "Clusters", cell: (row) => row.clusters.join(", "), className: "muted" },
      { id: "actions", label: "", className: "right fit", cell: (row) => button("", () => erase(row, screen), { kind: "quiet", small: true, glyph: "trash", label: `Delete ${row.name}`, refused: rights.superuser }) },
    ],
    whenEmpty: () => empty("There are no tenants", "A tenant has namespaces, and these have topics."),
  });
  list.update(rows);
  const create = button("New tenant", () => make(screen), { kind: "primary", glyph: "plus", refused: rights.superuser });
  return [
    head("Tenants", { said: "Who shares this cluster: each tenant has namespaces, and administrators of its own.", actions: [create] }),
    !seen.all && mayNot(rights.role, "list all tenants", rows.length ? "only a superuser may. Here are those that you administer, and the namespaces that you have a right in" : "only a superuser may, and you have a right in no whole namespace. Open what you have a right in by its name"),
    (seen.all || rows.length > 0) && card("", { label: "Tenants" }, list.element),
    !seen.all && openByName(),
  ].filter(Boolean);
}

/** Asks for a tenant's administrators and clusters. */
export async function editTenant(title, name, info, act) {
  const clusters = (await find("clusters")) ?? [];
  const input = text("tenant", { value: name, readonly: Boolean(info), required: true });
  const roles = text("roles", { value: info?.adminRoles.join(", ") ?? "" });
  const allowed = text("clusters", { value: (info?.allowedClusters ?? clusters.filter((each) => each !== "global")).join(", ") });
  const list = (element) => element.value.split(",").map((each) => each.trim()).filter(Boolean);
  return ask(title, {
    verb: info ? "Save" : "Create",
    fill: () => [field("Name", input), field("Administrators", roles, "Roles, with commas between; none: superusers only"), field("Clusters", allowed, "Where it may live")],
    act: async () => {
      const wrong = flaw(input.value.trim(), "tenant");
      if (wrong) throw new Error(wrong);
      await act(input.value.trim(), { adminRoles: list(roles), allowedClusters: list(allowed) });
      return input.value.trim();
    },
    done: (made) => `${made} is ${info ? "changed" : "there"}`,
  });
}

async function make(screen) {
  const made = await editTenant("New tenant", "", null, (name, info) => put(`tenants/${enc(name)}`, info));
  if (made && !screen.signal.aborted) go(link.tenant(made));
}

async function erase(row, screen) {
  const gone = await confirm(`Delete the tenant ${row.name}`, {
    said: row.namespaces.length ? `It has ${row.namespaces.length} namespaces, which must be deleted first: the broker will refuse.` : "It has no namespaces: nothing else goes with it.",
    typed: row.name, verb: "Delete", done: `${row.name} is deleted`,
    act: () => remove(`tenants/${enc(row.name)}`),
  });
  if (gone) screen.reload();
}
