import { useEffect, useRef } from "react";
import { stream } from "../live/cache";
import { useExternal } from "../live/external";
import { Empty } from "../parts/empty";

/** In place of a page that could not be loaded; once the server answers again, it is. */
export function NotLoaded() {
  const { connection } = useExternal(stream.liveness);
  const isLive = connection === "live";
  const wasOffline = useRef(false);
  useEffect(() => {
    if (isLive && wasOffline.current) location.reload();
    wasOffline.current ||= !isLive;
  }, [isLive]);
  return (
    <Empty>
      This page could not be loaded.{" "}
      {isLive ? (
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      ) : (
        "It will be as soon as the server answers."
      )}
    </Empty>
  );
}
