// What is around every screen: the navigation, the place, whether figures are live.

import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { nextTheme, themeIcon, themeName } from "./theme.js";

const NAVIGATION = [
  ["#/", "Overview", "overview", /^$/],
  ["#/tenants", "Tenants", "tenants", /^(tenants|namespaces)/],
  ["#/topics", "Topics", "topics", /^topics/],
  ["#/brokers", "Brokers", "brokers", /^brokers/],
  ["#/clusters", "Clusters", "clusters", /^clusters/],
  ["#/functions", "Functions", "functions", /^functions/],
];

export function makeShell({ find, help, signOut, signedIn }) {
  const links = NAVIGATION.map(([href, text, glyph, pattern]) => ({
    pattern,
    element: h("a", { href }, icon(glyph), text),
  }));
  const crumbs = h("ol", { class: "crumbs" });
  const pulse = h("span", { class: "pulse", role: "status" });
  const main = h("main", { id: "main", tabindex: "-1" });
  const themeButton = h("button", { class: "button quiet icon-only", type: "button", onclick: () => { nextTheme(); themed(); } });
  const who = h("div", { class: "who" });

  function themed() {
    put(themeButton, icon(themeIcon()));
    themeButton.setAttribute("aria-label", `Colours: ${themeName()}. Change`);
    themeButton.title = `Colours: ${themeName()}`;
  }

  const side = h("div", { class: "side", id: "side" },
    h("a", { class: "brand", href: "#/" }, h("img", { src: "icon.svg", alt: "" }), "Magnetar"),
    h("button", { class: "finder", type: "button", onclick: find }, icon("search"), h("span", null, "Find"), h("kbd", null, "/")),
    h("nav", { class: "nav", "aria-label": "Screens" }, links.map((link) => link.element)),
    h("div", { class: "side-foot" },
      who,
      h("div", { class: "tools" }, themeButton,
        h("button", { class: "button quiet icon-only", type: "button", "aria-label": "Keys and help", title: "Keys and help (?)", onclick: help }, icon("help")),
        signedIn && h("button", { class: "button quiet icon-only", type: "button", "aria-label": "Sign out", title: "Sign out", onclick: signOut }, icon("leave")))));
  const menuButton = h("button", {
    class: "button quiet icon-only menu-button", type: "button", "aria-label": "Navigation", "aria-controls": "side", "aria-expanded": false,
    onclick: () => open(!element.classList.contains("open")),
  }, icon("menu"));
  const element = h("div", { class: "shell" }, side,
    h("div", { class: "frame" },
      h("header", { class: "top" }, menuButton, h("nav", { "aria-label": "Place", style: { flex: "1", "min-width": "0" } }, crumbs), pulse),
      main),
    h("div", { class: "veil", onclick: () => open(false) }));

  function open(wanted) {
    element.classList.toggle("open", wanted);
    menuButton.setAttribute("aria-expanded", wanted);
  }

  themed();
  return {
    element,
    main,
    at(path) {
      open(false);
      for (const link of links) {
        if (link.pattern.test(path)) link.element.setAttribute("aria-current", "page");
        else link.element.removeAttribute("aria-current");
      }
    },
    crumbs(rows) {
      put(crumbs, rows.map(([text, href], index) => h("li", null, index === rows.length - 1
        ? h("span", { "aria-current": "page", title: text }, text)
        : h("a", { href }, text))));
      document.title = `${rows.map(([text]) => text).reverse().join(" · ")} · Magnetar`;
    },
    state(state, why = "") {
      pulse.className = `pulse ${state}`;
      const text = { live: "Live", lost: "No answer" }[state] ?? "";
      if (pulse.textContent !== text) put(pulse, text && h("i"), text);
      pulse.title = why;
    },
    who(text, title = "") {
      put(who, icon("user"), h("b", { title }, text));
    },
  };
}
