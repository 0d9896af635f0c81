// Short news at the corner, also told to screen readers.

import { h } from "../dom.js";
import { icon } from "../icons.js";

const SHOWN_MS = 5_000;
const region = h("div", { class: "toasts", role: "status", "aria-live": "polite" });

const ICONS = { good: "check", warn: "alert", bad: "stop", "": "info" };

export function toast(text, tone = "") {
  // A dialog is above everything else on the page, so that the region moves into it.
  const over = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (region.parentNode !== over) over.append(region);
  const close = h("button", { class: "button quiet small icon-only", type: "button", "aria-label": "Dismiss", onclick: () => element.remove() }, icon("close"));
  const mark = icon(ICONS[tone]);
  if (tone) mark.classList.add(tone);
  const element = h("div", { class: "toast" }, mark, h("div", null, text), close);
  region.append(element);
  setTimeout(() => element.remove(), tone === "bad" ? SHOWN_MS * 2 : SHOWN_MS);
  return element;
}
