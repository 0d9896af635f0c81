// Keys that work on every screen, unless somebody writes.

import { h } from "./dom.js";
import { go } from "./router.js";
import { nextTheme } from "./theme.js";
import { ask } from "./ui/dialog.js";

const PLACES = { o: ["#/", "Overview"], n: ["#/tenants", "Tenants and namespaces"], t: ["#/topics", "Topics"], b: ["#/brokers", "Brokers"], c: ["#/clusters", "Clusters"], f: ["#/functions", "Functions"] };
const CHORD_MS = 1_200;

const writes = (element) => element?.closest("input, textarea, select, [contenteditable]") !== null;

export function help() {
  const row = (keys, said) => h("tr", null, h("td", { class: "fit" }, keys.map((key) => [h("kbd", null, key), " "])), h("td", null, said));
  return ask("Keys", {
    fill: () => h("table", null, h("caption", { class: "unseen" }, "Keys"), h("tbody", null,
      row(["/"], "Find a topic, a namespace or a screen"),
      Object.entries(PLACES).map(([key, [, said]]) => row(["g", key], said)),
      row(["j", "k"], "The next row of a table, the one before"),
      row(["["], "The level above"),
      row(["d"], "Dark, light or as the system"),
      row(["?"], "This list"),
      row(["Esc"], "Close what is open"))),
  });
}

/** Moves the focus among the links of the rows of tables. */
function move(by) {
  const links = [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("a, button")).filter(Boolean);
  if (!links.length) return;
  const now = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  links[Math.max(0, Math.min(links.length - 1, now + by))].focus();
}

export function listen({ find }) {
  let waiting = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || writes(event.target) || document.querySelector("dialog[open]")) return;
    const chord = Date.now() < waiting ? PLACES[event.key] : undefined;
    waiting = 0;
    const acts = {
      "/": find,
      "?": help,
      g: () => { waiting = Date.now() + CHORD_MS; },
      j: () => move(1),
      k: () => move(-1),
      d: nextTheme,
      "[": () => [...document.querySelectorAll(".crumbs a")].at(-1)?.click(),
    };
    const act = chord ? () => go(chord[0]) : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
