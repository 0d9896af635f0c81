// The policies of a namespace or a topic: their values, where each comes from, edited in place.

import { get, remove, send } from "../api.js";
import { h } from "../dom.js";
import { inWords, word } from "../policies.js";
import { remember } from "../router.js";
import { ask } from "../ui/dialog.js";
import { check, field, number, search, select, text } from "../ui/forms.js";
import { badge, button, card, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

/** Cards of all policies. ``level`` is "namespace" or "topic", whose policies are below ``path``. */
export async function policiesCards(screen, { level, path, refused }) {
  const load = () => get(`${path}/policies`, { signal: screen.signal });
  let groups;
  try {
    groups = await load();
  } catch (error) {
    if (![403, 405].includes(error.status)) throw error;
    return notice("warn", error.message);
  }
  const shownValue = ({ shape, value }) => inWords(shape, value) || h("span", { class: "muted" }, "not set");
  const origin = (row) => badge(row.level === level ? `this ${level}` : row.level, { topic: "accent", namespace: level === "namespace" ? "accent" : "" }[row.level] ?? "");
  let words = screen.query.get("find") ?? "";

  async function edit(row) {
    if (!(await editPolicy(row, { level, path })) || screen.signal.aborted) return;
    groups = await load();
    draw();
  }

  const cards = groups.map(({ title }) => {
    const list = table(title, {
      key: (row) => row.path,
      columns: [
        { id: "label", label: "Policy", className: "name", cell: (row) => [h("div", null, row.label), row.about && h("div", { class: "help said" }, row.about)] },
        { id: "value", label: "Value", width: "38%", cell: shownValue },
        { id: "origin", label: "From", width: "136px", cell: origin },
        { id: "edit", label: "", width: "56px", className: "right", cell: (row) => button("", () => edit(row), { kind: "quiet", small: true, glyph: "edit", label: `Edit ${row.label}`, refused }) },
      ],
    });
    return { list, card: card(title, {}, list.element) };
  });
  const draw = () => cards.forEach(({ list, card: shown }, index) => {
    const fitting = groups[index].policies.filter((row) => `${row.label} ${row.path}`.toLowerCase().includes(words.toLowerCase()));
    list.update(fitting);
    shown.classList.toggle("hidden", fitting.length === 0);
  });
  draw();
  const finder = search("Filter policies", (text) => { remember(new URLSearchParams({ find: text })); words = text; draw(); }, words);
  return h("div", { class: "stack" },
    h("div", { class: "toolbar" }, finder, h("span", { class: "muted" }, "A change is in force when it is saved.")),
    cards.map((each) => each.card));
}

async function editPolicy(row, { level, path }) {
  const target = `${path}/${row.path}`;
  const form = inputs(row.shape, row.value ?? undefined, row.label);
  let removed = false;
  const done = await ask(row.label, {
    said: row.about,
    fill: (element, { dialog }) => [
      form.element,
      row.removable && h("p", null, button(`Remove, so that the ${level === "topic" ? "namespace" : "broker"}'s holds`, async (event) => {
        event.preventDefault();
        await remove(target);
        removed = true;
        dialog.close();
      }, { kind: "danger", glyph: "trash", small: true })),
    ],
    act: () => {
      const sent = form.read();
      return row.parameter ? send(row.method, `${target}?${row.parameter}=${sent}`) : send(row.method, target, { body: JSON.stringify(sent) });
    },
    done: `${row.label} is in force`,
  });
  return done || removed;
}

/** Inputs for a value of a shape: {element, read()}. */
function inputs(shape, value, label) {
  switch (shape.kind) {
    case "number": {
      const input = number("value", { value: value ?? "" });
      const help = shape.unit === "bytes" ? "Bytes" : shape.unit ? { s: "Seconds", ms: "Milliseconds", min: "Minutes", MB: "MB" }[shape.unit] ?? shape.unit : "";
      const meaning = shape.zero === "no limit" ? "0 or less: no limit" : shape.zero ? `0: ${shape.zero}` : "";
      return { element: field(label, input, [help, meaning].filter(Boolean).join(". ")), read: () => {
        if (input.value === "") { if (shape.optional) return undefined; throw new Error(`${label} is a number`); }
        return Number(input.value);
      } };
    }
    case "flag": {
      const input = check(label, "value", String(value) === "true");
      return { element: input, read: () => input.querySelector("input").checked };
    }
    case "choice": {
      const input = select("value", shape.options.map((each) => [each, word(each)]), value ?? shape.options[0]);
      return { element: field(label, input), read: () => input.value };
    }
    case "text": {
      const input = text("value", { value: value ?? "" });
      return { element: field(label, input), read: () => input.value };
    }
    case "set": {
      const all = shape.options.map((each) => [each, check(each, each, (value ?? []).includes(each))]);
      return { element: h("fieldset", null, h("legend", null, label), h("div", { class: "choices" }, all.map(([, element]) => element))), read: () => all.filter(([, element]) => element.querySelector("input").checked).map(([name]) => name) };
    }
    default: {
      const fields = shape.fields.map((each) => [each.name, inputs(each.shape, value?.[each.name], each.label)]);
      return { element: h("div", { class: "fields" }, fields.map(([, each]) => each.element)), read: () => Object.fromEntries(fields.map(([name, each]) => [name, each.read()])) };
    }
  }
}
