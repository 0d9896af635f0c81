// Elements, made by calls: h("p", {class: "muted"}, "text", child). Text is always text, never markup, and
// characters that would turn the text around them from right to left are shown by their number.

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const text = (value) => String(value).replace(TURNING, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "open", "indeterminate"]);

function set(element, name, value) {
  if (value === undefined || value === null) return;
  if (name.startsWith("on") && typeof value === "function") {
    element.addEventListener(name.slice(2), value);
  } else if (name === "style") {
    // The page's policy forbids style attributes; properties of the object are allowed.
    for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
  } else if (PROPERTIES.has(name)) {
    element[name] = value;
  } else if (name.startsWith("aria-") || name.startsWith("data-")) {
    element.setAttribute(name, String(value));
  } else if (value !== false) {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

function fill(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : text(child));
  }
  return element;
}

export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  // A value is set last: that of a select exists only with its options.
  const { value, ...rest } = props ?? {};
  for (const [name, each] of Object.entries(rest)) set(element, name, each);
  fill(element, children);
  set(element, "value", value);
  return element;
}

export function s(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, String(value));
  }
  return fill(element, children);
}

/** Puts children in place of what is in an element, unless they are equal already. */
export function put(element, ...children) {
  const next = fill(document.createElement("template").content, children);
  const now = [...element.childNodes];
  const then = [...next.childNodes];
  if (now.length === then.length && now.every((node, index) => node.isEqualNode(then[index]))) return element;
  element.replaceChildren(...then);
  return element;
}

/** Sets the text of an element where it changed. */
export function say(element, value) {
  const wanted = text(value);
  if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

let ids = 0;
export const id = (prefix = "id") => `${prefix}-${++ids}`;
