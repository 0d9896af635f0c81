// Who may do what, in a namespace or on a topic: granted and revoked.

import { get, post, remove } from "../api.js";
import { h } from "../dom.js";
import { enc } from "../names.js";
import { ask, confirm } from "../ui/dialog.js";
import { check, field, text } from "../ui/forms.js";
import { badge, button, card, empty, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

const ACTIONS = [["produce", "publish messages"], ["consume", "subscribe, and see what is stored"], ["functions", "run functions"], ["sources", "run sources"], ["sinks", "run sinks"], ["packages", "store packages"]];

/** ``path`` is what the permissions are below; ``subscriptions``: those of subscriptions, too. */
export async function permissionsCard(screen, { path, refused, subscriptions = false }) {
  let granted;
  try {
    granted = await get(`${path}/permissions`, { signal: screen.signal });
  } catch (error) {
    if (![403, 404, 405, 501].includes(error.status)) throw error;
    return notice("warn", error.message);
  }
  const change = (role, actions) => edit(path, role, actions).then((done) => done && screen.reload());
  const list = table("Permissions", {
    key: (row) => row.role,
    sort: "role",
    columns: [
      { id: "role", label: "Role", value: (row) => row.role, className: "name" },
      { id: "actions", label: "May", cell: (row) => (row.actions.length ? row.actions.map((action) => [badge(action, "accent"), " "]) : h("span", { class: "faint" }, "nothing")) },
      { id: "edit", label: "", className: "right fit", cell: (row) => [
        button("", () => change(row.role, row.actions), { kind: "quiet", small: true, glyph: "edit", label: `Edit ${row.role}`, refused }),
        button("", () => revoke(path, row.role, screen), { kind: "quiet", small: true, glyph: "trash", label: `Revoke all of ${row.role}`, refused }),
      ] },
    ],
    whenEmpty: () => empty("Nobody has a right of their own here", "Superusers and the tenant's administrators may do everything. Others need a permission, once authorisation is on."),
  });
  list.update(Object.entries(granted ?? {}).map(([role, actions]) => ({ role, actions: actions.filter(Boolean).sort() })));
  const grant = button("Grant", () => change("", []), { small: true, glyph: "plus", refused });
  return h("div", { class: "stack" },
    card("Permissions", { note: "What roles may do here. A revoked one acts on connected clients, too.", actions: grant }, list.element),
    subscriptions && await subscriptionsCard(screen, path, refused));
}

async function edit(path, role, actions) {
  const name = text("role", { value: role, readonly: role !== "" });
  const boxes = ACTIONS.map(([action, said]) => [action, check([h("b", null, action), h("span", { class: "muted" }, ` ${said}`)], action, actions.includes(action))]);
  return ask(role ? `What ${role} may do` : "Grant a permission", {
    verb: role ? "Save" : "Grant",
    fill: () => [field("Role", name), h("fieldset", null, h("legend", null, "May"), boxes.map(([, box]) => h("div", null, box)))],
    act: async () => {
      if (!name.value.trim()) throw new Error("A permission needs a role");
      const chosen = boxes.filter(([, box]) => box.querySelector("input").checked).map(([action]) => action);
      await post(`${path}/permissions/${enc(name.value.trim())}`, chosen);
    },
    done: "The permission holds",
  });
}

async function revoke(path, role, screen) {
  const done = await confirm(`Revoke all of ${role}`, {
    said: "Its producers and consumers here are disconnected when the broker next looks, within authenticationRefreshCheckSeconds.",
    verb: "Revoke", done: `${role} may do nothing here any more`, act: () => remove(`${path}/permissions/${enc(role)}`),
  });
  if (done) screen.reload();
}

async function subscriptionsCard(screen, path, refused) {
  let granted;
  try {
    granted = await get(`${path}/permissions/subscription`, { signal: screen.signal });
  } catch (error) {
    if (![403, 404, 405, 501].includes(error.status)) throw error;
    return null;
  }
  const list = table("Permissions of subscriptions", {
    key: (row) => row.name,
    sort: "name",
    columns: [
      { id: "name", label: "Subscription", value: (row) => row.name, className: "name" },
      { id: "roles", label: "For", cell: (row) => row.roles.map((role) => [badge(role, "accent"), button("", () => drop(row.name, role), { kind: "quiet", small: true, glyph: "close", label: `Take ${role} from ${row.name}`, refused })]) },
    ],
    whenEmpty: () => empty("Subscriptions are free to use", "Who may consume may use any subscription, unless it is kept for some roles."),
  });
  const drop = (name, role) => confirm(`Take ${role} from ${name}`, { verb: "Revoke", done: "Revoked", act: () => remove(`${path}/permissions/${enc(name)}/${enc(role)}`) }).then((done) => done && screen.reload());
  list.update(Object.entries(granted ?? {}).map(([name, roles]) => ({ name, roles })));
  const name = text("subscription");
  const roles = text("roles");
  const grant = button("Keep one for roles", () => ask("Keep a subscription for roles", {
    verb: "Grant",
    fill: () => [field("Subscription", name), field("Roles", roles, "With commas between")],
    act: () => post(`${path}/permissions/subscription/${enc(name.value.trim())}`, roles.value.split(",").map((each) => each.trim()).filter(Boolean)),
    done: "The subscription is kept for them",
  }).then((done) => done && screen.reload()), { small: true, glyph: "plus", refused });
  return card("Subscriptions", { note: "Who may consume by which subscription.", actions: grant }, list.element);
}
