// Payloads as people read them: as a value, as text, as bytes.

import { pretty } from "./format.js";

const bytesOf = (base64) => Uint8Array.from(atob(base64 ?? ""), (char) => char.charCodeAt(0));

/** Lines of 16 bytes, with where they stand and what letters they are. */
export function hex(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.subarray(at, at + 16);
    const codes = Array.from(row, (byte) => byte.toString(16).padStart(2, "0"));
    const letters = Array.from(row, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${codes.slice(0, 8).join(" ").padEnd(23)}  ${codes.slice(8).join(" ").padEnd(23)}  ${letters}`);
  }
  return lines.join("\n") || "(no bytes)";
}

/** {json, text, hex}, each a function: "" where a message cannot be shown so. */
export function views(message) {
  const bytes = () => bytesOf(message.payload);
  return {
    json: () => (message.value === null || message.value === undefined ? "" : pretty(message.value)),
    text: () => new TextDecoder().decode(bytes()),
    hex: () => hex(bytes()),
  };
}

/** One line of a value. */
export function preview(message) {
  if (message.nullValue) return "(null: removes its key)";
  if (message.value === null || message.value === undefined) return message.valueError ? `(${message.valueError})` : "";
  const text = typeof message.value === "string" ? message.value : JSON.stringify(message.value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

export const idText = ({ ledgerId, entryId, batchIndex }) => `${ledgerId}:${entryId}${batchIndex >= 0 ? `:${batchIndex}` : ""}`;
