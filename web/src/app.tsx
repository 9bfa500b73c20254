import { QueryClientProvider } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  RouterProvider,
} from "@tanstack/react-router";
import { useEffect } from "react";
import { Frame } from "./frame/frame";
import { NotLoaded } from "./frame/not-loaded";
import { Nowhere } from "./frame/nowhere";
import { SignIn } from "./frame/sign-in";
import { cache, stream } from "./live/cache";
import { useExternal } from "./live/external";
import { begin, visitor } from "./live/session";
import { PAGES } from "./pages";

const RETRY_MS = 1000;
/** How long after the first page the others are loaded, so that they open also without a server. */
const LOAD_ALL_MS = 5000;

const root = createRootRoute({ component: Frame, notFoundComponent: Nowhere });
const routes = PAGES.map((page) =>
  createRoute({
    getParentRoute: () => root,
    path: page.path,
    component: lazyRouteComponent(page.load),
  }),
);
const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultPreload: "intent",
  defaultErrorComponent: NotLoaded,
  scrollRestoration: true,
});

export function App() {
  const who = useExternal(visitor);
  useEffect(() => {
    if (who !== undefined) return;
    const again = setInterval(() => void begin(), RETRY_MS);
    return () => clearInterval(again);
  }, [who]);
  if (who === undefined) return null;
  return who ? <SignedIn /> : <SignIn />;
}

/** The stream lives as long as somebody is signed in; what was known to another is forgotten.
 *
 * Nothing is read before the stream has begun, so that no change falls between the two. */
function SignedIn() {
  useEffect(() => {
    cache.clear();
    const hurry = () => stream.hurry();
    stream.start();
    addEventListener("online", hurry);
    const loading = setTimeout(loadAll, LOAD_ALL_MS);
    return () => {
      clearTimeout(loading);
      removeEventListener("online", hurry);
      stream.stop();
    };
  }, []);
  const { connection } = useExternal(stream.liveness);
  if (connection === "connecting") return null;
  return (
    <QueryClientProvider client={cache}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}

function loadAll(): void {
  for (const page of PAGES) page.load().catch(() => undefined); // it is loaded when it is opened
}
