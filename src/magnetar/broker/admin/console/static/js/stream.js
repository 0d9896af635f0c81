// Server-sent events by fetch, which unlike EventSource sends the credentials in a header.

import { send } from "./api.js";

/** The events of one answer: {event, data}, with the data decoded. */
export async function* events(path, signal) {
  const response = await send("GET", path, { signal, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pending += value.replaceAll("\r\n", "\n");
    const blocks = pending.split("\n\n");
    pending = blocks.pop();
    for (const block of blocks) {
      const event = parse(block);
      if (event) yield event;
    }
  }
}

function parse(block) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}

const WAIT_MIN_MS = 1_000;
const WAIT_MAX_MS = 15_000;

/** Calls ``take`` with each event, connecting again until the signal; ``state`` hears "live" and "lost". */
export async function follow(path, { signal, take, state = () => {} }) {
  let wait = WAIT_MIN_MS;
  while (!signal.aborted) {
    try {
      for await (const event of events(path, signal)) {
        wait = WAIT_MIN_MS;
        state("live");
        take(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status >= 400 && error.status < 500) throw error;
    }
    state("lost");
    await pause(wait, signal);
    wait = Math.min(wait * 2, WAIT_MAX_MS);
  }
}

/** Waits, or less where the signal comes first. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
