// What a role may not see, in words, and where it can go instead.

import { h } from "../dom.js";
import { link, topicName } from "../names.js";
import { go } from "../router.js";
import { field, text } from "../ui/forms.js";
import { card, notice } from "../ui/parts.js";

export const ADMINS = "only the administrators of its tenant may";

/** ``needs`` is what the role lacks. */
export const mayNot = (role, what, needs) => notice("warn", `${role ? `You are ${role}, and may` : "You may"} not ${what}: ${needs}.`);

/** A form that leads to a namespace or a topic by its name, for who has a right in one and cannot list it. */
export function openByName() {
  const name = text("place", { placeholder: "tenant/namespace, or persistent://tenant/namespace/topic", required: true });
  const wrong = h("div", { role: "status" });
  const open = (event) => {
    event.preventDefault();
    const where = placeOf(name.value.trim());
    if (where) go(where);
    wrong.replaceChildren(where ? "" : notice("bad", "That is neither tenant/namespace nor the full name of a topic"));
  };
  return card("Open by name", { note: "A namespace, or a topic, that you have a right in." },
    h("form", { class: "body", onsubmit: open }, field("Namespace or topic", name), wrong, h("button", { class: "button primary", type: "submit" }, "Open")));
}

function placeOf(name) {
  const full = name.includes("://") ? name : `persistent://${name}`;
  const parts = full.split("://")[1].split("/");
  if (!/^(non-)?persistent:\/\//.test(full) || parts.length < 2 || parts.includes("")) return null;
  return parts.length === 2 ? link.namespace(...parts) : link.topic(topicName(full));
}
