// The small parts that screens are made of.

import { here } from "../commands.js";
import { h, id } from "../dom.js";
import { icon } from "../icons.js";
import { toast } from "./toast.js";

/** A badge: a word with a tone, "good", "warn", "bad", "accent" or none. */
export const badge = (text, tone = "", { dot = false, title } = {}) =>
  h("span", { class: `badge ${tone}${dot ? " dot" : ""}`, title }, text);

export function card(title, { note, actions, foot, label } = {}, ...body) {
  const name = id("card");
  const header = title && h("header", null, h("h2", { id: name }, title), actions, note && h("p", null, note));
  return h("section", { class: "card", "aria-labelledby": title ? name : undefined, "aria-label": title ? undefined : label },
    header, ...body, foot && h("footer", null, foot));
}

export const body = (...children) => h("div", { class: "body" }, ...children);

/** A screen's head: its title, what is said of it, and its actions. */
export const head = (title, { badges = [], said, actions = [] } = {}) =>
  h("div", { class: "head" },
    h("div", null, h("h1", null, title, badges), said && h("p", null, said)),
    actions.length > 0 && h("div", { class: "actions" }, actions));

const TONE_ICONS = { bad: "stop", warn: "alert", good: "check", "": "info" };

export const notice = (tone, ...children) =>
  h("div", { class: `notice ${tone}`, role: tone === "bad" ? "alert" : undefined }, icon(TONE_ICONS[tone]), h("div", null, ...children));

/** What there is to know when there is nothing to see; ``command`` may be copied. */
export const empty = (title, said, { command: text, action } = {}) =>
  h("div", { class: "empty" }, h("p", { class: "title" }, title), said && h("p", null, said), text && command(text),
    action && h("p", null, action));

export function command(said) {
  const text = here(said);
  const copy = h("button", { class: "button quiet small", type: "button", "aria-label": "Copy the command", onclick: () => copyText(text, "The command is copied") }, icon("copy"));
  return h("div", { class: "command" }, h("code", { tabindex: "0" }, text), copy);
}

export async function copyText(text, said = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast(said, "good");
  } catch {
    toast("The browser lets nobody copy here: mark the text and press Ctrl-C", "warn");
  }
}

/** Figures side by side: [[label, value, unit, note]]; ``update`` takes the same. */
export function figures(rows) {
  const parts = rows.map(([label, value, unit, note]) => {
    const number = h("span", null, value);
    const small = h("small", null, unit ?? "");
    const below = h("span", { class: "note" }, note ?? "");
    return { number, small, below, element: h("div", null, h("dt", null, label), h("dd", null, number, small), below) };
  });
  const element = h("dl", { class: "figures" }, parts.map((part) => part.element));
  const update = (next) => next.forEach(([, value, unit, note], index) => {
    const part = parts[index];
    part.number.textContent = value;
    part.small.textContent = unit ?? "";
    part.below.textContent = note ?? "";
    part.below.title = note ?? "";
  });
  update(rows);
  return { element, update };
}

/** Names and values, those without a value left out. */
export const facts = (rows) =>
  h("dl", { class: "facts" }, rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));

/** Links between the parts of one screen: [[href, text, current]]. */
export const tabs = (label, rows) =>
  h("nav", { class: "tabs", "aria-label": label }, rows.map(([href, text, current]) =>
    h("a", { href, "aria-current": current ? "page" : undefined }, text)));

/** A button; ``refused`` says why it may not be pressed, which is shown instead. */
export function button(text, onclick, { kind = "", glyph, refused, label, small = false } = {}) {
  const iconOnly = !text;
  return h("button", {
    class: `button ${kind}${iconOnly ? " icon-only" : ""}${small ? " small" : ""}`,
    type: "button",
    title: refused || (iconOnly ? label : undefined),
    "aria-label": label,
    "aria-disabled": refused ? true : undefined,
    onclick: (event) => (refused ? toast(refused, "warn") : onclick(event)),
  }, glyph && icon(glyph), text);
}

/** One of a few choices, as buttons that touch: [[value, text]]. */
export function choice(label, rows, chosen, take) {
  const buttons = rows.map(([value, text]) => h("button", {
    class: "button small", type: "button", "aria-pressed": value === chosen,
    onclick: () => {
      buttons.forEach((each, index) => each.setAttribute("aria-pressed", rows[index][0] === value));
      take(value);
    },
  }, text));
  return h("div", { class: "group", role: "group", "aria-label": label }, buttons);
}
