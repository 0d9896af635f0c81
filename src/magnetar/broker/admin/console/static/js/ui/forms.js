// Fields with their labels.

import { h, id } from "../dom.js";
import { icon } from "../icons.js";
import { toast } from "./toast.js";

/** An input with its label, and what helps to fill it in. */
export function field(label, input, help) {
  if (!input.id) input.id = id("field");
  const helpId = help ? `${input.id}-help` : undefined;
  if (help) input.setAttribute("aria-describedby", helpId);
  return h("div", { class: "field" }, h("span", null, h("label", { for: input.id }, label)), input, help && h("small", { class: "help", id: helpId }, help));
}

export const text = (name, props) => h("input", { name, type: "text", autocomplete: "off", spellcheck: "false", ...props });
export const number = (name, props) => h("input", { name, type: "number", step: "1", inputmode: "numeric", ...props });
export const select = (name, rows, value, props) =>
  h("select", { name, value, ...props }, rows.map(([key, shown]) => h("option", { value: key }, shown ?? key)));
export const area = (name, props) => h("textarea", { name, spellcheck: "false", ...props });

export function check(label, name, checked = false, props = {}) {
  const input = h("input", { type: "checkbox", name, checked, id: id("check"), ...props });
  return h("span", { class: "check" }, input, h("label", { for: input.id }, label));
}

/** One of several, as radio buttons: [[value, label]]. */
export function radios(legend, name, rows, value, onchange) {
  return h("fieldset", null, h("legend", null, legend), h("div", { class: "choices" }, rows.map(([key, shown]) => {
    const input = h("input", { type: "radio", name, value: key, checked: key === value, id: id("radio"), onchange: onchange && (() => onchange(key)) });
    return h("span", { class: "check" }, input, h("label", { for: input.id }, shown));
  })));
}

export const search = (label, oninput, value = "") =>
  h("input", { type: "search", placeholder: label, "aria-label": label, value, oninput: (event) => oninput(event.target.value) });

/** A button that opens a list of actions: [{text, act, danger, refused, glyph}]. */
export function menu(label, rows, { glyph = "more", text: shown = "" } = {}) {
  const list = h("ul", { role: "menu", class: "hidden" }, rows.filter(Boolean).map((row) => h("li", { role: "none" },
    h("button", {
      role: "menuitem", type: "button", class: row.danger ? "danger" : undefined, title: row.refused,
      "aria-disabled": row.refused ? true : undefined,
      onclick: () => { close(); if (row.refused) toast(row.refused, "warn"); else row.act(); },
    }, row.glyph && icon(row.glyph), row.text))));
  const opener = h("button", {
    class: `button${shown ? "" : " icon-only"}`, type: "button", "aria-haspopup": "menu", "aria-expanded": false, "aria-label": shown ? undefined : label, title: shown ? undefined : label,
    onclick: () => (list.classList.contains("hidden") ? open() : close()),
  }, shown, icon(shown ? "down" : glyph));
  const element = h("div", { class: "menu", onkeydown: keys }, opener, list);
  const outside = (event) => { if (!element.contains(event.target)) close(false); };

  const gone = (event) => { if (!list.contains(event.target)) close(false); };

  /** Below its button, or above it where there is no room: a table, which scrolls, would cut it off. */
  function placed() {
    const box = opener.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = list;
    const below = box.bottom + 4;
    list.style.top = `${below + height <= innerHeight ? below : Math.max(4, box.top - height - 4)}px`;
    list.style.left = `${Math.max(4, box.right - width)}px`;
  }
  function open() {
    list.classList.remove("hidden");
    placed();
    opener.setAttribute("aria-expanded", true);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("scroll", gone, true);
    list.querySelector("button")?.focus();
  }
  function close(focus = true) {
    list.classList.add("hidden");
    opener.setAttribute("aria-expanded", false);
    document.removeEventListener("pointerdown", outside);
    document.removeEventListener("scroll", gone, true);
    if (focus) opener.focus();
  }
  function keys(event) {
    if (list.classList.contains("hidden")) return;
    const items = [...list.querySelectorAll("button")];
    const now = items.indexOf(document.activeElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") { close(); if (event.key === "Escape") event.stopPropagation(); }
    if (to === undefined) return;
    event.preventDefault();
    items[(to + items.length) % items.length].focus();
  }
  return element;
}
