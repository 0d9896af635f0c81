// The schema of a topic: its versions, what changed between two, new ones checked and added.

import { get, post, remove } from "../api.js";
import { diffLines } from "../diff.js";
import { h, put } from "../dom.js";
import { plural, pretty, time } from "../format.js";
import { ask, confirm } from "../ui/dialog.js";
import { area, check, field, select } from "../ui/forms.js";
import { badge, button, card, empty, notice } from "../ui/parts.js";
import { table } from "../ui/table.js";

const TYPES = ["AVRO", "JSON", "PROTOBUF", "PROTOBUF_NATIVE", "KEY_VALUE", "STRING", "BYTES", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"];

export async function schemaTab(screen, { topic, rights }) {
  const path = topic.schemas;
  const { getSchemaResponses: versions } = await get(`${path}/schemas`, { signal: screen.signal });
  const add = button("New version", () => newVersion(path, versions.at(-1)).then((done) => done && screen.reload()), { small: true, glyph: "plus", refused: rights.admin });
  if (!versions.length) {
    return card("Schema", { actions: add }, empty("No schema", "Messages are bytes. A schema comes with the first producer or consumer that has one, or is added here.", { command: `magnetar admin schemas upload ${topic.full} --filename schema.json` }));
  }
  const drop = button("Delete", () => erase(path, versions).then((done) => done && screen.reload()), { small: true, kind: "danger", glyph: "trash", refused: rights.admin });
  const chosen = { from: versions.at(-2)?.version, to: versions.at(-1).version };
  const shown = h("div");
  const text = (number) => definition(versions.find((each) => each.version === number));
  const options = versions.map((each) => [each.version, `version ${each.version}`]).reverse();
  const from = select("from", [["", "nothing"], ...options], chosen.from ?? "", { "aria-label": "From", onchange: draw });
  const to = select("to", options, chosen.to, { "aria-label": "To", onchange: draw });

  function draw() {
    const [before, after] = [from.value === "" ? null : text(Number(from.value)), text(Number(to.value))];
    if (before === null) { put(shown, h("pre", { class: "payload", tabindex: "0" }, after)); return; }
    const lines = diffLines(before, after);
    const changed = lines.filter(([kind]) => kind !== "same").length;
    put(shown, h("p", { class: "help", style: { padding: "8px 16px" } }, changed ? `${plural(changed, "line differs", "lines differ")}` : "Both are the same"),
      h("div", { class: "diff", tabindex: "0", role: "region", "aria-label": "What changed" }, lines.map(([kind, line]) => h("div", { class: kind }, kind !== "same" && h("span", { class: "unseen" }, kind), line || " "))));
  }
  draw();

  const list = table("Versions", {
    key: (row) => row.version,
    sort: "version",
    descending: true,
    columns: [
      { id: "version", label: "Version", value: (row) => row.version, className: "name", cell: (row) => [row.version, " ", row.version === versions.at(-1).version && badge("current", "good")] },
      { id: "type", label: "Type", value: (row) => row.type, cell: (row) => badge(row.type, "accent") },
      { id: "time", label: "Since", value: (row) => row.timestamp, cell: (row) => h("span", { class: "muted" }, time(row.timestamp)) },
      { id: "properties", label: "Properties", cell: (row) => h("span", { class: "mono wrap muted" }, Object.entries(row.properties ?? {}).map(([key, value]) => `${key}=${value}`).join(", ")) },
      { id: "see", label: "", className: "right fit", cell: (row) => button("Compare", () => { from.value = versions[versions.indexOf(row) - 1]?.version ?? ""; to.value = row.version; draw(); }, { kind: "quiet", small: true, label: `Compare version ${row.version} with the one before` }) },
    ],
  });
  list.update(versions);
  return h("div", { class: "stack" },
    card("Versions", { actions: [add, drop] }, list.element),
    card("Definition", { actions: h("div", { class: "toolbar" }, from, h("span", { class: "muted" }, "to"), to) }, shown));
}

const definition = (version) => (version.data ? pretty(version.data) : `(${version.type} has no definition)`);

function newVersion(path, last) {
  const type = select("type", TYPES.map((each) => [each, each]), last?.type ?? "AVRO");
  const data = area("schema", { rows: "12", value: last?.data ? pretty(last.data) : "" });
  const result = h("div", { role: "status" });
  const payload = () => ({ type: type.value, schema: data.value.trim(), properties: last?.properties ?? {} });
  const test = button("Check", async () => {
    try {
      const { schemaCompatibilityStrategy: strategy, compatibility } = await post(`${path}/compatibility`, payload());
      put(result, notice(compatibility ? "good" : "bad", compatibility ? `It would be taken (${strategy})` : `It would be refused (${strategy})`));
    } catch (error) {
      put(result, notice("bad", error.message));
    }
  });
  return ask(last ? "New version of the schema" : "Add a schema", {
    wide: true, verb: "Add",
    fill: () => [field("Type", type), field("Definition", data, "Avro's JSON for AVRO and JSON; empty for types that have none"), h("div", { class: "row" }, test, h("span", { class: "muted" }, "asks whether the topic's compatibility strategy allows it")), result],
    act: async () => (await post(`${path}/schema`, payload())).version.version,
    done: (version) => `Version ${version} holds`,
  });
}

function erase(path, versions) {
  const force = check("Forget all versions, so that numbers begin at 0 again", "force");
  return confirm("Delete the schema", {
    said: `${plural(versions.length, "version")}. Messages stay, and cannot be decoded here any more. Producers with a schema bring theirs anew.`,
    details: force, verb: "Delete", done: "The schema is deleted",
    act: () => remove(`${path}/schema${force.querySelector("input").checked ? "?force=true" : ""}`),
  });
}
