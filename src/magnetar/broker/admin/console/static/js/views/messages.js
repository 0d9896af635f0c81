// The messages of a topic: by place, time, key and content, and as they are published. No subscription notices.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { bytes, count, plural } from "../format.js";
import { link } from "../names.js";
import { idText } from "../payload.js";
import { remember } from "../router.js";
import { follow } from "../stream.js";
import { field, select, text } from "../ui/forms.js";
import { messageList } from "../ui/message_list.js";
import { button, card, empty, notice } from "../ui/parts.js";
import { toast } from "../ui/toast.js";
import { publish } from "./publish.js";
import { resetTo } from "./cursor_actions.js";

const PAGE = 50;

export function messagesTab(screen, { topic, partitioned, rights }) {
  if (rights.consume) return notice("warn", rights.consume);
  const { query } = screen;
  const begin = query.get("from") ?? "latest";
  const start = select("begin", [["latest", "the newest"], ["earliest", "the oldest"], ["time", "a time"], ["id", "a message"]], begin === "latest" || begin === "earliest" ? begin : /^\d+:-?\d+/.test(begin) ? "id" : "time", { onchange: placed });
  const local = new Date(Date.now() - new Date().getTimezoneOffset() * 60_000 - 300_000);
  const at = h("input", { type: "datetime-local", step: "1", value: local.toISOString().slice(0, 19) });
  const messageId = text("id", { placeholder: "ledger:entry", value: start.value === "id" ? begin : "" });
  const key = text("key", { value: query.get("key") ?? "", placeholder: "any" });
  const filter = text("filter", { value: query.get("filter") ?? "", placeholder: "text, or property=value" });
  const timeField = field("Time", at);
  const idField = field("Message", messageId);
  const list = messageList("Messages", { partitioned, actions: (message) => [
    button("Publish again", () => publish(topic, message), { small: true, glyph: "send", refused: rights.produce || (message.nullValue || (message.value !== null && message.value !== undefined) ? "" : "Its content cannot be written as text here: it would be another message") }),
    !partitioned && button("Reset a subscription to it", () => resetTo(topic, message.id), { small: true, glyph: "back" }),
  ].filter(Boolean) });
  const said = h("span", { role: "status" });
  const more = button("More", () => load(true), { small: true });
  const instead = h("div");
  let next = null;
  let tail = null;
  const live = button("Live tail", () => (tail ? stop() : follows()), { glyph: "play" });

  function placed() {
    timeField.classList.toggle("hidden", start.value !== "time");
    idField.classList.toggle("hidden", start.value !== "id");
  }
  const from = () => ({ time: () => String(new Date(at.value).getTime()), id: () => messageId.value.trim() })[start.value]?.() ?? start.value;
  const wanted = () => {
    const asked = new URLSearchParams();
    if (key.value) asked.set("key", key.value);
    if (filter.value) asked.set("filter", filter.value);
    return asked;
  };

  async function load(onward = false) {
    const asked = wanted();
    asked.set("count", PAGE);
    asked.set("from", onward ? next : from());
    if (start.value === "latest") asked.set("backwards", "true");
    const page = await get(`${topic.path}/messages?${asked}`, { signal: screen.signal });
    if (onward) list.append(page.messages);
    else list.show(page.messages);
    next = page.next;
    const { scanned } = page;
    said.textContent = `${plural(list.length, "message")} shown. Looked at ${plural(scanned.entries, "entry", "entries")} (${bytes(scanned.bytes)})${next ? "" : ": that is all"}.`;
    more.classList.toggle("hidden", !next);
    const nothing = list.length === 0;
    list.element.classList.toggle("hidden", nothing);
    put(instead, nothing && !tail ? (key.value || filter.value ? empty("No message fits", next ? `None of the ${count(scanned.entries)} entries looked at so far fits: look at more.` : "Other words, or another place to begin, may find some.") : empty("No messages are stored here", "Publish one with the button above, or from a shell:", { command: `magnetar produce ${topic.full} -m "Hello, Magnetar"` })) : []);
  }

  async function searched(event) {
    event?.preventDefault();
    stop();
    const asked = wanted();
    asked.set("from", from());
    remember(asked);
    try {
      await load();
    } catch (error) {
      if (!screen.signal.aborted) put(instead, notice("bad", error.message));
    }
  }

  function follows() {
    tail = new AbortController();
    screen.signal.addEventListener("abort", stop);
    put(live, live.firstChild.cloneNode(true), "Stop");
    live.setAttribute("aria-pressed", true);
    list.show([]);
    list.element.classList.remove("hidden");
    more.classList.add("hidden");
    put(instead);
    said.textContent = "Waiting for messages";
    let seen = 0;
    const take = ({ event, data }) => {
      if (event === "message") { list.prepend([data]); seen += 1; said.textContent = `${plural(seen, "message")} since the tail began`; }
      if (event === "missed") toast(`${count(data.entries ?? data)} entries came too fast to be shown`, "warn");
    };
    follow(`${topic.path}/messages/tail?${wanted()}`, { signal: tail.signal, take, state: screen.state }).catch((error) => { stop(); put(instead, notice("bad", error.message)); });
  }
  function stop() {
    if (!tail) return;
    tail.abort();
    tail = null;
    screen.state("");
    put(live, live.firstChild.cloneNode(true), "Live tail");
    live.removeAttribute("aria-pressed");
  }

  placed();
  const form = h("form", { class: "search-bar", onsubmit: searched }, field("From", start), timeField, idField, field("Key", key), field("Contains", filter),
    h("div", { class: "row" }, h("button", { class: "button primary", type: "submit" }, "Search"), live));
  void searched();
  return card("", { label: "Messages", foot: [said, more] }, form, instead, list.element);
}

export const messageLink = (topic, id) => `${link.topic(topic, "messages")}?from=${typeof id === "string" ? id : idText(id)}`;
