import { useState } from "react";
import { api } from "../../api/client";
import type { Message } from "../../api/schema";
import { cache } from "../../live/cache";
import { useMail, useOwnHandle, useWorkers } from "../../live/queries";
import { useMay } from "../../live/session";
import { useAsked } from "../../parts/asked";
import { Empty } from "../../parts/empty";
import { FormDialog } from "../../parts/form-dialog";
import { rows, Section } from "../../parts/section";
import { Ago } from "../../parts/time";
import { attempt } from "../../parts/toasts";
import { Payload } from "./blackboard";
import { HandlePicker, useHandle } from "./handles";
import { payloadOf } from "./payload";
import styles from "./swarms.module.css";

/** What was sent or handed over to a handle. */
export function MailTab() {
  const mayRead = useMay("read what agents tell each other");
  const mayWrite = useMay("talk to other agents");
  const mayPlan = useMay("manage swarms");
  const chosen = useHandle();
  const own = useOwnHandle().data ?? "";
  const handle = mayPlan ? chosen : own;
  const mail = useMail(handle, mayRead && handle !== "").data ?? [];
  const [isWriting, setWriting] = useAsked("mail");
  if (!mayRead) return <Empty>Your token may not read what agents tell each other.</Empty>;
  const button = mayWrite && (
    <button type="button" className="primary" onClick={() => setWriting(true)}>
      Write
    </button>
  );
  return (
    <>
      <div className={styles.top}>
        {mayPlan ? <HandlePicker /> : <span className="quiet">Of {own}</span>}
        {button}
      </div>
      <Section title={`Mail and handoffs (${mail.length})`}>
        {mail.map((message) => (
          <Letter key={message.id} message={message} handle={handle} />
        ))}
        {mail.length === 0 && (
          <Empty command={`fleet mail-send lead ${handle || "scout"} "Text" "subject"`}>
            No mail for {handle}. Whoever has the handle, now or next, reads what is sent to it.
          </Empty>
        )}
      </Section>
      {isWriting && mayWrite && <Write to={handle} close={() => setWriting(false)} />}
    </>
  );
}

function Letter({ message, handle }: { message: Message; handle: string }) {
  const read = async () => {
    await api.POST("/api/v1/mail/read", { body: { ids: [message.id], handle } });
    await cache.invalidateQueries({ queryKey: ["mail"] });
  };
  return (
    <article className={`${rows.group} ${styles.post}`} data-unread={!message.delivered_at}>
      <div className={styles.line}>
        <span
          className={styles.mark}
          role="img"
          aria-label={message.delivered_at ? "read" : "unread"}
        />
        <strong>{message.sender}</strong>
        <span className="quiet clip" dir="auto">
          {message.context ? "hands over" : message.subject}
        </span>
        <Ago at={message.sent_at} />
        {!message.delivered_at && (
          <button type="button" className={styles.last} onClick={() => void attempt(read)}>
            Mark as read
          </button>
        )}
      </div>
      {message.context ? (
        <Payload payload={message.context} />
      ) : (
        <Payload payload={{ text: message.text }} />
      )}
    </article>
  );
}

function Write({ to: given, close }: { to: string; close: () => void }) {
  const workers = useWorkers().data ?? [];
  const [to, setTo] = useState(given);
  const [subject, setSubject] = useState("");
  const [text, setText] = useState("");
  const [isHandoff, setHandoff] = useState(false);
  const send = async () => {
    if (isHandoff) await api.POST("/api/v1/handoffs", { body: { to, context: payloadOf(text) } });
    else await api.POST("/api/v1/mail", { body: { to, text, subject } });
    await cache.invalidateQueries({ queryKey: ["mail"] });
  };
  return (
    <FormDialog title="Write" button="Send" done={`Sent to ${to}`} close={close} submit={send}>
      <label>
        To
        <input required list="handles" value={to} onChange={(event) => setTo(event.target.value)} />
        <datalist id="handles">
          {workers.map((worker) => (
            <option key={worker.task} value={worker.handle} />
          ))}
        </datalist>
      </label>
      {!isHandoff && (
        <label>
          Subject
          <input value={subject} onChange={(event) => setSubject(event.target.value)} />
        </label>
      )}
      <label>
        {isHandoff ? "What is handed over: text, or a JSON object" : "Text"}
        <textarea
          required
          rows={5}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label>
        <span>
          <input type="checkbox" checked={isHandoff} onChange={() => setHandoff(!isHandoff)} /> as a
          handoff
        </span>
      </label>
    </FormDialog>
  );
}
