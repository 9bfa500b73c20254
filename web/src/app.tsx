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
import { Nowhere } from "./frame/nowhere";
import { SignIn } from "./frame/sign-in";
import { cache, stream } from "./live/cache";
import { useExternal } from "./live/external";
import { begin, visitor } from "./live/session";
import { PAGES } from "./pages";

const RETRY_MS = 1000;

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
    return () => {
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
