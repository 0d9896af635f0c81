// The policies of a namespace or a topic: their values, where each comes from, edited in place.

import { find, get, remove, send } from "../api.js";
import { h } from "../dom.js";
import { each } from "../live.js";
import { inWords, POLICY_GROUPS, settingInWords, word } from "../policies.js";
import { remember } from "../router.js";
import { ask } from "../ui/dialog.js";
import { check, field, number, search, select } from "../ui/forms.js";
import { badge, button, card, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

/**
 * Cards of all policies. ``level`` is "namespace" or "topic", whose policies are below ``path``; a topic's own are
 * over those of ``namespacePath``, and these over the broker's.
 */
export async function policiesCards(screen, { level, path, namespacePath, refused }) {
  try {
    await get(`${path}/retention`, { signal: screen.signal });
  } catch (error) {
    if (error.status !== 403) throw error;
    return notice("warn", error.message);
  }
  const settings = await find("brokers/configuration/runtime", { signal: screen.signal });
  const offers = POLICY_GROUPS.map(([title, policies]) => [title, policies.filter((policy) => policy[level]).map((policy) => ({ policy, name: `${policy[level]} ${policy.quota ?? ""}` }))]);
  const lists = new Map();

  async function load(row) {
    const { policy } = row;
    if (level === "topic") {
      const [own, applied, above] = await Promise.all([value(policy, "topic", path), applies(policy, path), policy.namespace && value(policy, "namespace", namespacePath)]);
      row.own = own;
      row.origin = own !== null ? "topic" : isSet(policy, above) ? "namespace" : "broker";
      row.value = own ?? (isSet(policy, above) ? above : applied);
    } else {
      const own = await value(policy, "namespace", path);
      row.own = isSet(policy, own) ? own : null;
      row.origin = row.own === null ? "broker" : "namespace";
      row.value = row.own;
    }
    row.broker = settings?.[policy.setting];
    row.absent = row.value === undefined;
  }

  const shownValue = (row) => {
    if (row.origin === "broker" && (row.value === null || row.value === undefined)) return h("span", { class: "muted" }, row.broker ? settingInWords(row.policy, String(row.broker)) : "the broker's default");
    return inWords(row.policy.shape, row.value) || h("span", { class: "muted" }, "not set");
  };
  const ORIGINS = { topic: ["this topic", "accent"], namespace: [level === "namespace" ? "this namespace" : "namespace", level === "namespace" ? "accent" : ""], broker: ["broker", ""] };

  async function edit(row) {
    const changed = await editPolicy(row, { level, path });
    if (!changed || screen.signal.aborted) return;
    await load(row);
    lists.get(row.group).update(lists.get(row.group).rows());
  }

  const cards = offers.map(([title, rows]) => {
    const list = table(title, {
      key: (row) => row.name,
      columns: [
        { id: "label", label: "Policy", className: "name", cell: (row) => [h("div", null, row.policy.label), row.policy.said && h("div", { class: "help said" }, row.policy.said)] },
        { id: "value", label: "Value", width: "38%", cell: shownValue },
        { id: "origin", label: "From", width: "136px", cell: (row) => badge(ORIGINS[row.origin][0], ORIGINS[row.origin][1], { title: row.origin === "broker" && row.policy.setting ? `the broker's setting ${row.policy.setting}` : "" }) },
        { id: "edit", label: "", width: "56px", className: "right", cell: (row) => button("", () => edit(row), { kind: "quiet", small: true, glyph: "edit", label: `Edit ${row.policy.label}`, refused }) },
      ],
    });
    rows.forEach((row) => { row.group = title; });
    lists.set(title, list);
    return { rows, list, card: card(title, {}, list.element) };
  });
  await each(cards.flatMap(({ rows }) => rows), load, { signal: screen.signal, atOnce: 8 });
  const draw = (words) => cards.forEach(({ rows, list, card: shown }) => {
    const fitting = rows.filter((row) => row.origin && !row.absent && `${row.policy.label} ${row.policy[level]}`.toLowerCase().includes(words));
    list.update(fitting);
    shown.classList.toggle("hidden", fitting.length === 0);
  });
  const words = screen.query.get("find") ?? "";
  draw(words.toLowerCase());
  const finder = search("Filter policies", (text) => { remember(new URLSearchParams({ find: text })); draw(text.toLowerCase()); }, words);
  return h("div", { class: "stack" },
    h("div", { class: "toolbar" }, finder, h("span", { class: "muted" }, "A change is in force when it is saved.")),
    cards.map((each) => each.card));
}

/** Some unset policies are shown with what that means: nothing is set then. */
function isSet(policy, value) {
  if (value === null || value === undefined) return false;
  if (policy.shape.kind === "set") return value.length > 0;
  if (policy.kept) return !(value === "UNDEFINED" || (value === true && policy.namespace === "isAllowAutoUpdateSchema") || (value === false && policy.namespace === "schemaValidationEnforced"));
  return !(policy.namespace === "maxTopicsPerNamespace" && value === 0) && !(policy.namespace === "encryptionRequired" && value === false) && !(policy.bodyless && value === false);
}

async function value(policy, level, path) {
  if (policy.quota) return (await find(`${path}/backlogQuotaMap`))?.[policy.quota] ?? null;
  const found = await find(`${path}/${policy[level]}`);
  return level === "topic" && !isSet(policy, found) && policy.shape.kind !== "number" ? null : found;
}

async function applies(policy, path) {
  if (policy.quota) return (await find(`${path}/backlogQuotaMap?applied=true`))?.[policy.quota] ?? null;
  return find(`${path}/${policy.topic}?applied=true`);
}

async function editPolicy(row, { level, path }) {
  const { policy } = row;
  const target = `${path}/${policy[level]}`;
  const query = policy.quota ? `?backlogQuotaType=${policy.quota}` : "";
  const removable = row.own !== null && policy.kept !== level && policy.kept !== "both";
  const form = inputs(policy.shape, row.value ?? undefined, policy.label);
  return ask(policy.label, {
    said: policy.said,
    fill: (element, { dialog }) => [
      form.element,
      removable && h("p", null, button(`Remove, so that the ${level === "topic" ? "namespace" : "broker"}'s holds`, async (event) => {
        event.preventDefault();
        await remove(`${target}${query}`);
        row.removed = true;
        dialog.close();
      }, { kind: "danger", glyph: "trash", small: true })),
    ],
    act: () => {
      const sent = form.read();
      const verb = (level === "topic" ? policy.topicVerb : policy.verb) ?? "POST";
      if (level === "topic" && policy.parameter) return send(verb, `${target}?${policy.parameter}=${sent}`);
      return send(verb, `${target}${query}`, { body: sent });
    },
    done: `${policy.label} is in force`,
  }).then((done) => done || row.removed);
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
