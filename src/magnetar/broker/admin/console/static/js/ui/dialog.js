// Dialogs: the browser's own, which keeps the focus inside, closes with Esc, and gives the focus back.

import { h, id } from "../dom.js";
import { field } from "./forms.js";
import { notice } from "./parts.js";
import { toast } from "./toast.js";

/** What ``act`` gives to keep its dialog open. */
export const STAY = Symbol("stay");

/**
 * Asks with a form. ``fill(form)`` gives what is in it, or null; ``act(form)`` does what was asked, and keeps the
 * dialog open with the reason where that fails. Resolves with what ``act`` gave, undefined if dismissed.
 */
export function ask(title, { said, fill = () => null, act, verb = "Save", danger = false, wide = false, done }) {
  return new Promise((resolve) => {
    const name = id("dialog");
    const failure = h("div");
    const submit = h("button", { class: `button primary${danger ? " danger" : ""}`, type: "submit" }, verb);
    const cancel = h("button", { class: "button", type: "button", onclick: () => dialog.close() }, act ? "Cancel" : "Close");
    const bodyElement = h("div", { class: "body" });
    const form = h("form", { method: "dialog", novalidate: true },
      h("header", null, h("h2", { id: name }, title), said && h("p", null, said)),
      bodyElement,
      h("footer", null, cancel, act && submit));
    const dialog = h("dialog", { "aria-labelledby": name, class: wide ? "wide" : undefined }, form);
    let answer;
    const content = fill(form, { dialog, submit });
    bodyElement.append(...[content, failure].flat().filter(Boolean));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!act || submit.disabled) return;
      submit.disabled = true;
      try {
        const found = (await act(form)) ?? true;
        failure.replaceChildren();
        if (found === STAY) return;
        answer = found;
        dialog.close();
        if (done) toast(typeof done === "function" ? done(answer) : done, "good");
      } catch (error) {
        failure.replaceChildren(notice("bad", error.message));
        failure.scrollIntoView({ block: "nearest" });
      } finally {
        submit.disabled = false;
      }
    });
    dialog.addEventListener("close", () => { document.body.append(...dialog.querySelectorAll(".toasts")); dialog.remove(); resolve(answer); });
    document.body.append(dialog);
    dialog.showModal();
    const first = form.querySelector(".body input, .body select, .body textarea");
    (first ?? (act ? submit : cancel)).focus();
  });
}

/** Asks whether to do something that cannot be undone, with its name typed where ``typed`` is given. */
export function confirm(title, { said, details, typed, verb, act, danger = true, done }) {
  return ask(title, {
    said,
    verb,
    danger,
    act,
    done,
    fill: (form, { submit }) => {
      if (!typed) return details;
      submit.disabled = true;
      const input = h("input", { name: "typed", autocomplete: "off", spellcheck: "false", oninput: () => { submit.disabled = input.value !== typed; } });
      return [details, field(["Type ", h("code", null, typed), " to confirm"], input)];
    },
  });
}
