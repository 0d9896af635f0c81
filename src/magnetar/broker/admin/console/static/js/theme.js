// Dark or light: as the system says, or as chosen here.

const KEY = "magnetar.theme";
const ORDER = ["auto", "dark", "light"];
const NAMES = { auto: "as the system", dark: "dark", light: "light" };

export const theme = () => localStorage.getItem(KEY) ?? "auto";
export const themeName = () => NAMES[theme()];
export const themeIcon = () => ({ auto: "auto", dark: "moon", light: "sun" })[theme()];

export function applyTheme() {
  if (theme() === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
}

export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  if (next === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  applyTheme();
}
