// What is wrong with the page as it is shown now, a line for each.
() => {
  const found = [];
  const seen = (element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return style.visibility !== "hidden" && style.display !== "none" && box.width > 0 && box.height > 0;
  };
  const called = (element) => {
    const by = element.getAttribute("aria-labelledby");
    if (by) return by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    const label = element.labels?.length ? [...element.labels].map((each) => each.textContent).join(" ") : "";
    return (element.getAttribute("aria-label") || label || element.textContent || element.getAttribute("title") || element.alt || "").trim();
  };
  const where = (element) => element.outerHTML.slice(0, 140);

  for (const element of document.querySelectorAll("a[href], button, input, select, textarea, [role=img], [role=region], [role=group], dialog, nav, table")) {
    if (!seen(element)) continue;
    const name = element.matches("input, select, textarea") ? (element.getAttribute("aria-label") || [...(element.labels ?? [])].map((each) => each.textContent).join(" ")).trim() : element.matches("table") ? element.caption?.textContent : called(element);
    if (!name) found.push(`no name: ${where(element)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((each) => each === id).length > 1) found.push(`two have the id ${id}`);
  for (const element of document.querySelectorAll("[aria-controls], [aria-describedby], [aria-labelledby]")) {
    for (const kind of ["aria-describedby", "aria-labelledby"]) {
      for (const id of (element.getAttribute(kind) ?? "").split(" ").filter(Boolean)) if (!document.getElementById(id)) found.push(`${kind} ${id} names nothing`);
    }
  }
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  if ([...document.querySelectorAll("h1")].filter(seen).length !== 1) found.push("not one h1");
  let level = 1;
  for (const heading of [...document.querySelectorAll("main h1, main h2, main h3, main h4")].filter(seen)) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) found.push(`a heading is left out before ${where(heading)}`);
    level = next;
  }
  for (const image of document.querySelectorAll("img:not([alt])")) found.push(`no alt: ${where(image)}`);
  for (const head of document.querySelectorAll("thead th")) if (head.scope !== "col") found.push(`no scope: ${where(head)}`);
  if (!document.documentElement.lang) found.push("no lang");
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const color = (text) => {
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const own = color(getComputedStyle(at).backgroundColor);
      if (own[3] > 0) layers.push(own);
      if (own[3] === 1) break;
    }
    return layers.reverse().reduce((under, layer) => over(layer, under), color(getComputedStyle(document.body).backgroundColor).slice(0, 3));
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => { const c = value / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  /** Whether a text runs out of the box that it is in, where nothing between them cuts or scrolls it. */
  const outside = (text, element, holder) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    if (range.getBoundingClientRect().right <= holder.getBoundingClientRect().right + 1) return false;
    for (let at = element; at !== holder; at = at.parentElement) if (getComputedStyle(at).overflowX !== "visible") return false;
    return true;
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || !seen(element) || element.closest("noscript, .unseen, title, .skip, [aria-disabled=true], [disabled], option")) continue;
    const style = getComputedStyle(element);
    const holder = element.closest("main .card, main .figures > div, main .notice, dialog");
    if (holder && outside(words.currentNode, element, holder)) found.push(`out of its box: ${where(element)}`);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const behind = background(element);
    const text = over(color(element.namespaceURI.endsWith("svg") ? style.fill : style.color), behind);
    const [a, b] = [light(text), light(behind)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const about = `${element.className?.baseVal ?? element.className} ${ratio.toFixed(2)}`;
    if (ratio < least && !told.has(about)) { told.add(about); found.push(`contrast ${about}: ${where(element)}`); }
  }
  return found;
}
