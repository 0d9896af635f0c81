// Publishes a message: encoded by the topic's schema, by the door of every producer.

import { find, post } from "../api.js";
import { h } from "../dom.js";
import { pretty } from "../format.js";
import { idText } from "../payload.js";
import { ask } from "../ui/dialog.js";
import { area, check, field, text } from "../ui/forms.js";
import { badge } from "../ui/parts.js";

const STRUCTURED = new Set(["AVRO", "JSON", "PROTOBUF_NATIVE", "KEY_VALUE"]);
const TEXTS = new Set(["STRING", "DATE", "TIME", "TIMESTAMP", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"]);

/** Asks for a message; ``like`` is one to begin with. */
export async function publish(topic, like = null) {
  const schema = await find(`${topic.schemas}/schema`);
  const kind = schema?.type ?? "none";
  const known = like && like.value !== null && like.value !== undefined;
  const value = area("value", { rows: "7", value: known ? (typeof like.value === "string" ? like.value : pretty(like.value)) : example(schema) });
  const key = text("key", { value: like?.key ?? "" });
  const properties = area("properties", { rows: "2", placeholder: "name=value, a line for each", value: Object.entries(like?.properties ?? {}).map(([name, text_]) => `${name}=${text_}`).join("\n") });
  properties.style.minHeight = "58px";
  const delay = h("input", { type: "number", min: "0", name: "delay", placeholder: "at once", "aria-label": "Delay in seconds" });
  const nothing = check("No value: removes the key where the topic is compacted", "null", Boolean(like?.nullValue));
  return ask(`Publish to ${topic.local}`, {
    verb: "Publish",
    wide: true,
    fill: () => [
      field(["Value ", schema ? badge(kind, "accent", { title: `version ${schema.version}` }) : badge("bytes")], value, schema ? "Encoded by the topic's schema; written as JSON where that has fields" : "The topic has no schema: sent as this text"),
      nothing,
      h("div", { class: "fields" }, field("Key", key), field("Delay", delay, "Seconds; Shared and Key_Shared hold it back")),
      field("Properties", properties),
    ],
    act: async () => {
      const message = { value: nothing.querySelector("input").checked ? null : written(value.value, kind) };
      if (key.value) message.key = key.value;
      const given = properties.value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
      if (given.some(([name]) => !name)) throw new Error("A property is name=value");
      if (given.length) message.properties = Object.fromEntries(given);
      if (delay.value) message.deliverAt = Date.now() + Number(delay.value) * 1000;
      const { results: [result] } = await post(`${topic.path}/messages`, { messages: [message] });
      if (result.reason) throw new Error(result.reason);
      return result.id ?? true;
    },
    done: (id) => (id.ledgerId === undefined ? "It was published before" : `Published as ${idText(id)}${id.partitionIndex >= 0 ? ` of partition ${id.partitionIndex}` : ""}`),
  });
}

/** What was written, as a value of the schema: JSON, or the text itself. */
function written(text, kind) {
  if (kind === "none" || kind === "BYTES" || kind === "NONE" || TEXTS.has(kind)) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (STRUCTURED.has(kind)) throw new Error(`The value is no JSON: ${error.message}`);
    return text;
  }
}

/** A value to begin with: each field of a record, empty. */
function example(schema) {
  try {
    const { fields } = JSON.parse(schema.data);
    return pretty(Object.fromEntries(fields.map((each) => [each.name, each.default ?? blank(each.type)])));
  } catch {
    return "";
  }
}

function blank(type) {
  const name = Array.isArray(type) ? "null" : type.type ?? type;
  return { string: "", int: 0, long: 0, float: 0, double: 0, boolean: false, array: [], map: {} }[name] ?? null;
}
