// Short news at the corner, also told to screen readers.

import { h } from "../dom.js";
import { icon } from "../icons.js";

const SHOWN_MS = 5_000;
const region = h("div", { class: "toasts", role: "status", "aria-live": "polite" });

const ICONS = { good: "check", warn: "alert", bad: "stop", "": "info" };

export function toast(text, tone = "") {
  const element = shown(text, tone);
  setTimeout(() => element.remove(), tone === "bad" ? SHOWN_MS * 2 : SHOWN_MS);
  return element;
}

/** News of work that goes on: ``say`` changes it; ``end`` says how it ended, and a failure stays until it is dismissed. */
export function news(text, action) {
  const said = h("div", null, text);
  const element = shown([said, action && h("div", { class: "toast-action" }, action)], "");
  return {
    say(now) { if (said.textContent !== now) said.textContent = now; },
    end(last, tone) {
      element.remove();
      if (tone === "bad") shown(last, tone);
      else toast(last, tone);
    },
  };
}

function shown(content, tone) {
  // A dialog is above everything else on the page, so that the region moves into it.
  const over = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (region.parentNode !== over) over.append(region);
  const close = h("button", { class: "button quiet small icon-only", type: "button", "aria-label": "Dismiss", onclick: () => element.remove() }, icon("close"));
  const mark = icon(ICONS[tone]);
  if (tone) mark.classList.add(tone);
  const element = h("div", { class: "toast" }, mark, h("div", null, content), close);
  region.append(element);
  return element;
}
