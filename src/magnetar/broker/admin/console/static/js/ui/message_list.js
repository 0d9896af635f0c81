// Messages in a table; each opens to show everything that is known of it.

import { h, id, put } from "../dom.js";
import { bytes, plural, time } from "../format.js";
import { icon } from "../icons.js";
import { idText, preview, views } from "../payload.js";
import { badge, button, choice, copyText, facts } from "./parts.js";

const SHOWN_MAX = 500;

/** ``actions(message)`` are buttons for an open message. */
export function messageList(label, { partitioned = false, actions = () => [] } = {}) {
  const heads = ["", "Published", "Message", "Key", "Value", "Size"];
  const body = h("tbody");
  const element = h("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: "messages" }, h("caption", { class: "unseen" }, label),
      h("thead", null, h("tr", null, heads.map((text, index) => h("th", { scope: "col", class: index === 5 ? "right" : undefined }, text || h("span", { class: "unseen" }, "Open"))))), body));

  function rowOf(message) {
    const detailId = id("message");
    const opener = h("button", { class: "button quiet small icon-only", type: "button", "aria-expanded": false, "aria-controls": detailId, "aria-label": `Message ${idText(message.id)}`, onclick: () => toggle() }, icon("right"));
    const row = h("tr", { onclick: (event) => { if (!event.target.closest("a, button") && !getSelection().toString()) toggle(); } },
      h("td", { class: "fit" }, opener),
      h("td", { class: "fit number" }, time(message.publishTime, { millis: true })),
      h("td", { class: "fit mono" }, idText(message.id), partitioned && message.id.partitionIndex >= 0 && h("span", { class: "faint" }, ` p${message.id.partitionIndex}`)),
      h("td", { class: "wrap" }, message.key ?? h("span", { class: "faint" }, "–")),
      h("td", null, h("div", { class: `preview${message.value === null && message.valueError ? " warn" : ""}` }, preview(message)), marks(message)),
      h("td", { class: "right" }, bytes(message.size)));
    let detail = null;

    function toggle() {
      const open = opener.getAttribute("aria-expanded") === "true";
      opener.setAttribute("aria-expanded", !open);
      put(opener, icon(open ? "right" : "down"));
      if (open) { detail.remove(); detail = null; return; }
      detail = h("tr", { class: "detail", id: detailId }, h("td", { colspan: heads.length }, opened(message, actions(message))));
      row.after(detail);
    }
    return row;
  }

  return {
    element,
    show: (messages) => put(body, messages.map(rowOf)),
    append: (messages) => body.append(...messages.map(rowOf)),
    prepend(messages) {
      body.prepend(...messages.map(rowOf).reverse());
      while (body.children.length > SHOWN_MAX) body.lastElementChild.remove();
    },
    get length() { return body.children.length; },
  };
}

function marks(message) {
  const found = [
    message.encryptionKeys && ["encrypted", "warn"], message.chunks && [plural(message.chunks.length, "chunk"), ""], message.chunk && !message.chunks && [`chunk ${message.chunk.index + 1} of ${message.chunk.count}`, ""], message.deliverAt && [`due ${time(message.deliverAt)}`, "accent"],
    message.transaction && ["transaction", "accent"], message.marker && ["marker", ""], message.payloadTruncated && ["cut", "warn"],
  ].filter(Boolean);
  return found.map(([text, tone]) => [badge(text, tone), " "]);
}

function opened(message, actions) {
  const all = views(message);
  const first = all.json() ? "json" : "text";
  const shown = h("pre", { class: "payload", tabindex: "0" }, all[first]() || "(empty)");
  const ways = choice("Payload as", [["json", "Value"], ["text", "Text"], ["hex", "Hex"]], first, (way) => { shown.textContent = all[way]() || message.valueError || "(empty)"; });
  const properties = Object.entries(message.properties ?? {});
  return h("div", { class: "opened" },
    h("div", { class: "row spread" }, ways, h("div", { class: "row" }, button("Copy", () => copyText(shown.textContent), { small: true, glyph: "copy" }), actions)),
    shown,
    h("div", { class: "grid" },
      facts([
        ["Published", time(message.publishTime, { millis: true })], ["Event time", message.eventTime && time(message.eventTime, { millis: true })],
        ["Producer", message.producer], ["Sequence id", String(message.sequenceId ?? "")], ["Ordering key", message.orderingKey],
        ["Schema", message.schemaVersion === null ? "" : `version ${message.schemaVersion}`], ["Compression", message.compression], ["Batch", message.batchSize && `of ${message.batchSize}`],
        ["Chunks", message.chunks && message.chunks.map(idText).join(", ")],
        ["Encrypted with", message.encryptionKeys?.join(", ")], ["From cluster", message.replicatedFrom], ["Transaction", message.transaction], ["Not shown because", message.valueError],
      ]),
      properties.length > 0 ? h("div", null, h("h3", null, "Properties"), facts(properties)) : h("p", { class: "muted" }, "No properties")));
}
