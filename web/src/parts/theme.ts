const KEY = "theme";
const THEMES = ["", "light", "dark"];

/** Light, dark, or as the system has it. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = localStorage.getItem(KEY) ?? "";
}

export function nextTheme(): void {
  const at = THEMES.indexOf(localStorage.getItem(KEY) ?? "");
  localStorage.setItem(KEY, THEMES[(at + 1) % THEMES.length] ?? "");
  applyTheme();
}
