// Screens by their place: what follows # in the address. A screen ends when its signal is aborted.

import { h } from "./dom.js";
import { notice } from "./ui/parts.js";

/** [pattern, module of views/] in the order in which they are tried. */
const SCREENS = [
  ["", "overview"],
  ["tenants", "tenants"],
  ["tenants/:tenant", "tenant"],
  ["namespaces/:tenant/:namespace", "namespace"],
  ["namespaces/:tenant/:namespace/:tab", "namespace"],
  ["topics", "topics"],
  ["topics/:domain/:tenant/:namespace/:local", "topic"],
  ["topics/:domain/:tenant/:namespace/:local/subscription/:subscription", "subscription"],
  ["topics/:domain/:tenant/:namespace/:local/:tab", "topic"],
  ["brokers", "brokers"],
  ["brokers/:tab", "brokers"],
  ["clusters", "clusters"],
  ["functions", "functions"],
];

export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, segments: path.split("/"), query: new URLSearchParams(query) };
}

function matched(segments) {
  for (const [pattern, module] of SCREENS) {
    const parts = pattern.split("/");
    if (parts.length !== segments.length) continue;
    const params = {};
    const fits = parts.every((part, index) => {
      if (!part.startsWith(":")) return part === segments[index];
      params[part.slice(1)] = decodeURIComponent(segments[index]);
      return segments[index] !== "";
    });
    if (fits) return { module, params };
  }
  return null;
}

export function go(hash) {
  if (location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}

/** Changes the query of this place without showing the screen anew. */
export function remember(query) {
  const kept = [...query].filter(([, value]) => value !== "");
  const text = new URLSearchParams(kept).toString();
  history.replaceState(null, "", `#/${place().path}${text ? `?${text}` : ""}`);
}

/** Shows the screen of the place in ``main``, now and whenever that changes. */
export function route(shell) {
  let ending = new AbortController();
  let shown = null;
  const show = async () => {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    const { path, segments, query } = place();
    const found = matched(segments);
    const sameScreen = shown === found?.module;
    shown = found?.module;
    const screen = {
      signal,
      query,
      params: found?.params ?? {},
      main: shell.main,
      crumbs: (...links) => signal.aborted || shell.crumbs(links),
      state: (state, why) => signal.aborted || shell.state(state, why),
      reload: () => show(),
    };
    shell.at(path);
    screen.state("");
    delete shell.main.dataset.place;
    shell.main.setAttribute("aria-busy", true);
    const loading = setTimeout(() => signal.aborted || shell.main.replaceChildren(h("p", { class: "loading", role: "status" }, "Loading")), sameScreen ? 2_000 : 150);
    let content;
    try {
      if (!found) throw new Error(`There is no screen at ${path}`);
      const view = await import(`./views/${found.module}.js`);
      content = await view.show(screen);
    } catch (error) {
      if (signal.aborted) return;
      console.info(error);
      const again = h("button", { class: "button small", type: "button", onclick: show }, "Try again");
      const refused = error.status === 403;  // The words are Pulsar's, which name no way out.
      const said = refused ? h("span", null, `You may not see this: ${error.message} `, h("a", { href: "#/tenants" }, "See what you may")) : error.message;
      content = [h("h1", { class: "unseen" }, "This cannot be shown"), notice(refused ? "warn" : "bad", h("div", { class: "row spread" }, said, again))];
    } finally {
      clearTimeout(loading);
    }
    if (signal.aborted) return;
    shell.main.replaceChildren(...[content].flat());
    if (!sameScreen) {
      window.scrollTo(0, 0);
      shell.main.focus({ preventScroll: true });
    }
    shell.main.dataset.place = path;
    shell.main.setAttribute("aria-busy", false);
  };
  window.addEventListener("hashchange", show);
  return show();
}
