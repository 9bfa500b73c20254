import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/codefleet/doors/http/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": API(), "/session": API(), "/ws": { ...API(), ws: true } } },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});

/** `npm run dev` shows the fleet that is served at the usual port. */
function API() {
  return { target: "http://127.0.0.1:3847", changeOrigin: true };
}
