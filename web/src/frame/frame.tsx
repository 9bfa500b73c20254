import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { useKeys } from "../keyboard/keys";
import { useBoard } from "../live/queries";
import { useMay } from "../live/session";
import { Bell } from "../notifications/bell";
import { Notifier } from "../notifications/notifier";
import { PAGES } from "../pages";
import { Asking } from "../parts/asking";
import { Help } from "../parts/help";
import { Menu } from "../parts/menu";
import { NewTask, openNewTask } from "../parts/new-task";
import { openPalette, Palette } from "../parts/palette";
import { Telling } from "../parts/telling";
import { Toasts } from "../parts/toasts";
import styles from "./frame.module.css";
import { Live, OfflineBanner } from "./live";

const GOING_MS = 1500;

/** What is around every page: the navigation, how live it is, the palette, dialogs and toasts. */
export function Frame() {
  const mayAdd = useMay("add tasks");
  const here = usePage();
  const [isGoing, setGoing] = useState(false);
  const stay = useCallback(() => setGoing(false), []);
  useGlobalKeys(mayAdd, () => setGoing(true));
  useEffect(() => {
    document.title = `${here} · codefleet`;
  }, [here]);
  return (
    <div className={styles.frame}>
      <nav className={styles.nav} aria-label="Pages">
        <div className={styles.brand}>codefleet</div>
        {PAGES.filter((page) => page.nav).map((page) => (
          <Link
            key={page.path}
            to={page.path}
            className={page.nav?.onPhone ? "" : (styles.wide ?? "")}
            activeProps={{ className: styles.active ?? "", "aria-current": "page" }}
            activeOptions={{ exact: page.path === "/", includeSearch: false }}
          >
            {page.title}
            {page.path === "/inbox" && <Needed />}
          </Link>
        ))}
      </nav>
      <header className={styles.header}>
        <h1>{here}</h1>
        <Live />
        <Bell className={styles.wide} />
        {mayAdd && (
          <button type="button" onClick={openNewTask}>
            New task <kbd>c</kbd>
          </button>
        )}
        <button type="button" className={styles.wide} onClick={openPalette}>
          Search <kbd>Ctrl-K</kbd>
        </button>
      </header>
      <main className={styles.main}>
        <OfflineBanner />
        <Outlet />
      </main>
      <Palette />
      <NewTask />
      <Asking />
      <Telling />
      <Menu />
      <Help />
      {isGoing && <Going done={stay} />}
      <Toasts />
      <Notifier />
    </div>
  );
}

function Needed() {
  const many = useBoard().data?.needs.length ?? 0;
  return many > 0 && <span className={styles.badge}>{many}</span>;
}

/** The page on the screen: while the next one is loaded, still the one before. */
function usePage(): string {
  const path = useRouterState({
    select: ({ resolvedLocation, location }) => (resolvedLocation ?? location).pathname,
  });
  const first = (each: string) => each.split("/")[1];
  return PAGES.find((page) => first(page.path) === first(path))?.title ?? "codefleet";
}

const PLACES = PAGES.flatMap(({ path, title, nav }) =>
  nav ? [{ path, title, key: nav.key }] : [],
);

function useGlobalKeys(mayAdd: boolean, go: () => void): void {
  const places = PLACES.map(({ key, title }) => `${key} ${title}`).join(", ");
  useKeys([
    { key: "k", mod: true, does: "Everything: pages, tasks, commands", run: openPalette },
    ...(mayAdd ? [{ key: "c", does: "New task", run: openNewTask }] : []),
    { key: "g", does: `Go to a page: ${places}`, run: go },
  ]);
}

/** After `g`, the next key names a page. */
function Going({ done }: { done: () => void }) {
  const navigate = useNavigate();
  const goTo = (path: string) => () => {
    done();
    void navigate({ to: path });
  };
  useKeys(
    PLACES.map(({ key, title, path }) => ({ key, does: `Go to ${title}`, run: goTo(path) })),
    true,
  );
  useEffect(() => {
    const late = setTimeout(done, GOING_MS);
    return () => clearTimeout(late);
  }, [done]);
  return null;
}
