import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { press } from "./keyboard/keys";
import { begin } from "./live/session";
import { applyTheme } from "./parts/theme";
import { refuse } from "./parts/toasts";
import "./styles/base.css";

applyTheme();
addEventListener("keydown", press);
void begin().then((refused) => refused && refuse(refused));

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
