// One namespace: its topics, policies, permissions and bundles.

import { get, post, put } from "../api.js";
import { h } from "../dom.js";
import { link, namespacePath } from "../names.js";
import { rightsFor } from "../rights.js";
import { go } from "../router.js";
import { confirm } from "../ui/dialog.js";
import { menu } from "../ui/forms.js";
import { button, card, head, tabs } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { permissionsCard } from "./permissions.js";
import { policiesCards } from "./policies.js";
import { ADMINS, mayNot, openByName } from "./may_not.js";
import { eraseNamespace } from "./tenant.js";
import { newTopic, topicsCard } from "./topics.js";

const TABS = [["", "Topics"], ["policies", "Policies"], ["permissions", "Permissions"], ["bundles", "Bundles"]];

export async function show(screen) {
  const { tenant, namespace, tab = "" } = screen.params;
  const full = `${tenant}/${namespace}`;
  screen.crumbs(["Tenants", "#/tenants"], [tenant, link.tenant(tenant)], [namespace]);
  const rights = await rightsFor({ tenant, namespace });
  const path = namespacePath(tenant, namespace);
  const more = menu("More", [
    { text: "Unload its topics", glyph: "refresh", refused: rights.admin, act: () => confirm(`Unload ${full}`, { said: "Closes its topics. Clients look them up again at once; nothing is lost.", verb: "Unload", danger: false, act: () => put(`${path}/unload`), done: `${full} is unloaded` }) },
    { text: "Clear all backlogs", glyph: "trash", danger: true, refused: rights.admin, act: () => confirm(`Clear the backlogs of ${full}`, { said: "Every subscription of every topic in it goes to the end: what was not acknowledged is not delivered any more.", typed: namespace, verb: "Clear", act: () => post(`${path}/clearBacklog`), done: "The backlogs are cleared" }) },
    { text: "Delete the namespace", glyph: "trash", danger: true, refused: rights.admin, act: async () => { if (await eraseNamespace(tenant, namespace)) go(link.tenant(tenant)); } },
  ]);
  const create = button("New topic", () => newTopic(tenant, namespace), { kind: "primary", glyph: "plus", refused: rights.admin });
  return [
    head(full, { actions: [more, create] }),
    tabs("Parts of the namespace", TABS.map(([name, text]) => [link.namespace(tenant, namespace, name), text, name === tab])),
    ...[await shownTab(tab, screen, rights, path)].flat(),
  ];
}

async function shownTab(tab, screen, rights, path) {
  const { tenant, namespace } = screen.params;
  switch (tab) {
    case "policies":
      if (rights.admin) return mayNot(rights.role, "see the policies", ADMINS);
      return policiesCards(screen, { level: "namespace", path, refused: rights.admin });
    case "permissions":
      if (rights.admin) return mayNot(rights.role, "see the permissions", ADMINS);
      return permissionsCard(screen, { path, refused: rights.admin, subscriptions: true });
    case "bundles":
      if (rights.admin) return mayNot(rights.role, "see the bundles", ADMINS);
      return bundlesCard(screen, path, rights);
    default:
      if (rights.topics) return [mayNot(rights.role, `list the topics of ${tenant}/${namespace}`, "that needs the permission to produce or to consume in it, which an administrator of the tenant grants"), openByName()];
      return topicsCard(screen, { namespaces: [`${tenant}/${namespace}`], refused: () => rights.admin });
  }
}

async function bundlesCard(screen, path, rights) {
  const { boundaries } = await get(`${path}/bundles`, { signal: screen.signal });
  const rows = boundaries.slice(1).map((upper, index) => ({ range: `${boundaries[index]}_${upper}`, share: (Number(upper) - Number(boundaries[index])) / 0xffffffff }));
  const act = (row, verb, said) => confirm(`${verb} ${row.range}`, { said, verb, danger: false, act: () => put(`${path}/${row.range}/${verb.toLowerCase()}`), done: `${row.range}: done` }).then((done) => done && screen.reload());
  const list = table("Bundles", {
    key: (row) => row.range,
    columns: [
      { id: "range", label: "Hashes", cell: (row) => h("span", { class: "mono" }, row.range) },
      { id: "share", label: "Share", right: true, cell: (row) => `${(row.share * 100).toFixed(1)} %` },
      { id: "actions", label: "", className: "right", cell: (row) => h("span", { class: "row", style: { "justify-content": "flex-end" } },
        button("Unload", () => act(row, "Unload", "Closes its topics; clients look them up again at once."), { kind: "quiet", small: true, refused: rights.admin }),
        button("Split", () => act(row, "Split", "Makes two bundles of it, which cannot be undone."), { kind: "quiet", small: true, refused: rights.admin })) },
    ],
  });
  list.update(rows);
  return card("Bundles", { note: "A topic belongs to the bundle its hash falls into. A bundle is served by one broker." }, list.element);
}
