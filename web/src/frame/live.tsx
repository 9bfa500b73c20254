import { useIsFetching } from "@tanstack/react-query";
import { stream } from "../live/cache";
import { useExternal } from "../live/external";
import styles from "./live.module.css";

const WORDS = {
  connecting: "connecting",
  live: "live",
  behind: "behind",
  offline: "offline",
  refused: "signed out",
};

/** At which event the page is, and whether that is the newest. */
export function Live() {
  const { connection, seq } = useExternal(stream.liveness);
  const isReading = useIsFetching() > 0;
  const word = connection === "behind" && !isReading ? "live" : connection;
  return (
    <span
      className={`${styles.live} num`}
      title="The last event of the log that this page has heard of"
      data-connection={word}
    >
      <span className={word === "live" ? styles.on : styles.off} />
      seq {seq.toLocaleString("en")} · {WORDS[word]}
    </span>
  );
}

export function OfflineBanner() {
  const { connection, seq } = useExternal(stream.liveness);
  if (connection !== "offline") return null;
  return (
    <div className={styles.banner} role="alert">
      {`The server does not answer. You see the fleet as it was at event ${seq.toLocaleString("en")}, and the page catches up by itself. `}
      If the server stopped, <code>fleet serve</code> starts it.
    </div>
  );
}
