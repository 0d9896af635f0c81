// Commands that screens show name this broker, unless it is where commands look by themselves.

import { find } from "./api.js";

const USUAL = /^(pulsar:\/\/(localhost|127\.0\.0\.1):6650|http:\/\/(localhost|127\.0\.0\.1):8080)$/;
let service = "";

/** Asks where clients reach this broker. */
export async function learnService() {
  service = (await find("magnetar/overview"))?.serviceUrl ?? "";
}

/** A command, or a sentence that ends with one, with the option that names this broker. */
export function here(said) {
  const [, verb] = /\bmagnetar (admin|functions|produce|consume) /.exec(said) ?? [];
  if (!verb) return said;
  const [option, url] = verb === "produce" || verb === "consume" ? ["--url", service] : ["--admin-url", location.origin];
  return url && !USUAL.test(url) ? `${said} ${option} ${url}` : said;
}
