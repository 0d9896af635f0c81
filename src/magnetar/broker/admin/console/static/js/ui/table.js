// Tables that are sorted by their heads, and updated in place: a row that stays keeps its focus.

import { h, put, say } from "../dom.js";

const TALL_ROWS = 20;

/**
 * ``columns``: [{id, label, cell(row), value(row), right, className, width}], where ``cell`` gives text or an
 * element and ``value`` what is sorted by. ``key`` names a row. ``whenEmpty`` is shown instead of no rows; of more than
 * ``rowsMax`` the first are. ``within``: many rows scroll in a box of their own.
 */
export function table(label, { columns, key, sort, descending = false, whenEmpty, rowsMax = 500, within = false }) {
  const order = { id: sort, descending };
  const shown = new Map();
  let rows = [];

  const heads = new Map();
  const headRow = h("tr", null, columns.map((column) => {
    const sortable = column.value !== undefined;
    const inner = sortable ? h("button", { type: "button", onclick: () => sortBy(column) }, column.label) : column.label;
    const head = h("th", { scope: "col", class: column.right ? "right" : undefined, style: column.width && { width: column.width } }, inner || h("span", { class: "unseen" }, column.said ?? "Actions"));
    heads.set(column.id, head);
    return head;
  }));
  const bodyElement = h("tbody");
  const tableElement = h("table", null, h("caption", { class: "unseen" }, label), h("thead", null, headRow), bodyElement);
  const wrap = h("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": label }, tableElement);
  const more = h("p", { class: "help hidden", style: { padding: "8px 16px" } });
  const element = h("div", null, wrap, more);

  function sortBy(column) {
    order.descending = order.id === column.id ? !order.descending : Boolean(column.right);
    order.id = column.id;
    update(rows);
  }

  function sorted() {
    const column = columns.find((each) => each.id === order.id);
    if (!column?.value) return rows;
    const sign = order.descending ? -1 : 1;
    const compare = (a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      if (typeof x === "string") return sign * x.localeCompare(y, "en", { numeric: true });
      return sign * (x - y) || 0;
    };
    return [...rows].sort(compare);
  }

  function cellOf(td, column, row) {
    if (td.querySelector("[aria-expanded=true]")) return;  // Somebody chooses from its menu.
    const content = column.cell ? column.cell(row) : column.value(row);
    if (content instanceof Node || Array.isArray(content)) put(td, content);
    else say(td, content ?? "");
    td.className = [column.right ? "right" : "", column.className ?? "", column.right && String(content) === "0" ? "zero" : ""].filter(Boolean).join(" ");
  }

  function update(next) {
    rows = next;
    for (const [name, head] of heads) {
      if (name === order.id) head.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    const wanted = sorted().slice(0, rowsMax);
    const keys = new Set(wanted.map(key));
    for (const [name, entry] of shown) {
      if (!keys.has(name)) { entry.tr.remove(); shown.delete(name); }
    }
    let before = bodyElement.firstElementChild;
    for (const row of wanted) {
      let entry = shown.get(key(row));
      if (!entry) {
        const cells = columns.map(() => h("td"));
        entry = { tr: h("tr", null, cells), cells };
        shown.set(key(row), entry);
      }
      columns.forEach((column, index) => cellOf(entry.cells[index], column, row));
      if (entry.tr === before) before = before.nextElementSibling;
      else bodyElement.insertBefore(entry.tr, before);
    }
    wrap.classList.toggle("tall", within && rows.length > TALL_ROWS);
    more.classList.toggle("hidden", rows.length <= rowsMax);
    more.textContent = `${rowsMax} of ${rows.length} are shown: search for the others.`;
    wrap.classList.toggle("hidden", rows.length === 0 && whenEmpty !== undefined);
    if (whenEmpty && rows.length === 0) {
      if (element.firstChild === wrap) element.prepend(h("div", { class: "instead" }));
      put(element.firstChild, whenEmpty());
    }
    if (rows.length > 0 && element.firstChild !== wrap) element.firstChild.remove();
  }

  update([]);
  if (whenEmpty && element.firstChild !== wrap) element.firstChild.remove();  // Nothing is known before the first rows.
  return { element, update, rows: () => rows };
}
