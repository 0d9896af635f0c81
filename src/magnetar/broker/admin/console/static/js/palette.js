// Find: topics, namespaces, tenants and screens by a part of their names.

import { h, put } from "./dom.js";
import { inventory } from "./inventory.js";
import { link, topicName } from "./names.js";
import { go } from "./router.js";

const SHOWN_MAX = 40;
const SCREENS = [
  { text: "Overview", kind: "screen", href: "#/" },
  { text: "Tenants", kind: "screen", href: "#/tenants" },
  { text: "Topics", kind: "screen", href: "#/topics" },
  { text: "Brokers", kind: "screen", href: "#/brokers" },
  { text: "Clusters", kind: "screen", href: "#/clusters" },
  { text: "Functions", kind: "screen", href: "#/functions" },
];

export function openPalette() {
  if (document.querySelector("dialog.palette")) return;
  const ending = new AbortController();
  let all = SCREENS;
  let found = [];
  let chosen = 0;
  const list = h("ul", { role: "listbox", id: "found", "aria-label": "Found" });
  const input = h("input", {
    type: "text", role: "combobox", placeholder: "Find a topic, a namespace, a screen", "aria-label": "Find", "aria-controls": "found", "aria-expanded": true, autocomplete: "off", spellcheck: "false",
    oninput: () => { chosen = 0; show(); },
    onkeydown: keys,
  });
  const dialog = h("dialog", { class: "palette", "aria-label": "Find" }, input, list);

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = all.filter((each) => words.every((word) => each.text.toLowerCase().includes(word))).slice(0, SHOWN_MAX);
    put(list, found.length ? found.map((each, index) => h("li", {
      role: "option", id: `found-${index}`, "aria-selected": index === chosen,
    }, each.text, h("small", null, each.kind))) : h("li", { class: "nothing", role: "option", "aria-disabled": true }, "Nothing has such a name"));
    input.setAttribute("aria-activedescendant", found.length ? `found-${chosen}` : "");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }
  function take(index) {
    const each = found[index];
    if (!each) return;
    dialog.close();
    go(each.href);
  }
  function keys(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && found.length) { event.preventDefault(); chosen = (chosen + by + found.length) % found.length; show(); }
    if (event.key === "Enter") { event.preventDefault(); take(chosen); }
  }
  list.addEventListener("click", (event) => take([...list.children].indexOf(event.target.closest("li"))));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { ending.abort(); dialog.remove(); });
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  show();
  void load();

  async function load() {
    const { namespaces, topics, tenants } = await inventory(ending.signal);
    if (ending.signal.aborted) return;
    const names = [...topics.keys()].map(topicName);
    all = [
      ...SCREENS,
      ...tenants.map((tenant) => ({ text: tenant, kind: "tenant", href: link.tenant(tenant) })),
      ...namespaces.map((name) => ({ text: name, kind: "namespace", href: link.namespace(...name.split("/")) })),
      ...names.map((topic) => ({ text: `${topic.tenant}/${topic.namespace}/${topic.local}`, kind: topic.persistent ? "topic" : "non-persistent topic", href: link.topic(topic) })),
    ];
    show();
  }
}
