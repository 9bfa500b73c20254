import { useState } from "react";
import { api, told } from "../api/client";
import type { Right } from "../api/schema";
import { cache } from "../live/cache";
import { External, useExternal } from "../live/external";
import { FormDialog } from "./form-dialog";
import { count } from "./format";
import { say } from "./toasts";

interface Telling {
  title: string;
  about: string;
  button: string;
  right: Right;
  tell: (text: string) => Promise<string>;
}

/** What can be told to many at once; each returns what to say when it is done. */
export const TELLINGS = {
  broadcast: {
    title: "Message to all agents",
    about: "Every agent at work reads it, now or with its next prompt.",
    button: "Send",
    right: "send messages to all",
    tell: async (text) => {
      const sent = await told(api.POST("/api/v1/broadcast", { body: { text } }));
      return `Sent to ${count(sent.length, "agent")}`;
    },
  },
  alert: {
    title: "Raise an alert",
    about: "It stands in the inbox until somebody settles it.",
    button: "Raise",
    right: "raise an alert",
    tell: async (text) => {
      await api.POST("/api/v1/alerts", { body: { text } });
      return "It is in the inbox";
    },
  },
  notice: {
    title: "Notify those who watch",
    about: "It is an event of the log, for whoever watches. Nobody has to settle it.",
    button: "Notify",
    right: "notify",
    tell: async (text) => {
      await api.POST("/api/v1/notices", { body: { text } });
      return "It is in the log";
    },
  },
} satisfies Record<string, Telling>;

export type Kind = keyof typeof TELLINGS;

const open = new External<Kind | null>(null);

export function openTelling(kind: Kind): void {
  open.set(kind);
}

export function Telling() {
  const kind = useExternal(open);
  return kind && <Words key={kind} telling={TELLINGS[kind]} />;
}

function Words({ telling }: { telling: Telling }) {
  const [text, setText] = useState("");
  const tell = async () => {
    say(await telling.tell(text));
    await cache.invalidateQueries({ queryKey: ["board"] });
  };
  return (
    <FormDialog
      title={telling.title}
      button={telling.button}
      close={() => open.set(null)}
      submit={tell}
    >
      <p className="quiet">{telling.about}</p>
      <textarea
        required
        rows={4}
        aria-label={telling.title}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </FormDialog>
  );
}
