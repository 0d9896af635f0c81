// The public REST API, with the credentials of who signed in. Failures have the broker's own reason.

import { credentials, needSignIn } from "./session.js";
import { toast } from "./ui/toast.js";

class ApiError extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

const JSON_TYPE = "application/json";

export async function send(method, path, { body, signal, headers = {}, accept = JSON_TYPE } = {}) {
  // A page may ask only the broker that it came from: that one asks whichever has the answer.
  const sent = { Accept: accept, "X-Magnetar-Answer-Here": "true", ...credentials(), ...headers };
  if (method !== "GET" && !sent["Content-Type"]) sent["Content-Type"] = JSON_TYPE;
  let response;
  try {
    response = await fetch(path.startsWith("/") ? path : `/admin/v2/${path}`, {
      method,
      headers: sent,
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      signal,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The broker does not answer: is it running?");
  }
  const idle = response.headers.get("X-Magnetar-Without-Effect");
  if (idle) toast(`${idle}: it is kept and shown, and this broker does nothing about it`, "warn");
  if (response.ok) return response;
  const reason = reasonOf(await response.text(), response);
  // Pulsar answers 401 also to a role that may not, but asks with a challenge only who somebody is.
  const unknown = response.status === 401 && response.headers.has("WWW-Authenticate");
  if (unknown) needSignIn(reason);
  throw new ApiError(response.status === 401 && !unknown ? 403 : response.status, reason);
}

function reasonOf(text, response) {
  try {
    const said = JSON.parse(text);
    // What follows is a stack trace, where the reason is an exception of a server in Java.
    const reason = said.reason ?? said.message ?? text;
    return String(reason).split("\n\nStacktrace:")[0].replace("--- An unexpected error occurred in the server ---", "").trim();
  } catch {
    return text.trim() || `${response.status} ${response.statusText}`;
  }
}

/** JSON; text where it is none; null where there is nothing. */
async function valueOf(response) {
  const text = await response.text();
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const get = async (path, options) => valueOf(await send("GET", path, options));
export const put = async (path, body, options) => valueOf(await send("PUT", path, { ...options, body }));
export const post = async (path, body, options) => valueOf(await send("POST", path, { ...options, body }));
export const remove = async (path, options) => valueOf(await send("DELETE", path, options));

/** Like ``get``, but null where there is no such thing, or no right to see it. */
export async function find(path, options) {
  try {
    return await get(path, options);
  } catch (error) {
    if ([403, 404, 405, 409, 412, 501, 503].includes(error.status)) return null;
    throw error;
  }
}
