import { useNotes } from "../../live/queries";
import { Empty } from "../../parts/empty";
import { rows, Section } from "../../parts/section";
import { Ago } from "../../parts/time";
import type { TabProps } from "./task";
import styles from "./task.module.css";

/** What agents noted for one another, and what they asked. */
export function NotesTab({ details }: TabProps) {
  const notes = useNotes(details.task.id).data;
  return (
    <div className={styles.stack}>
      <Note title="Plan" text={notes?.plan} />
      <Note title="Knowledge" text={notes?.knowledge} />
      <Section title="Questions and answers">
        {details.questions.map((question) => (
          <div key={question.id} className={rows.group}>
            <p className={styles.text} dir="auto">
              {question.text} <Ago at={question.asked_at} />
            </p>
            <p className={`${styles.text} ${question.answer ? "" : "quiet"}`} dir="auto">
              {question.answer ?? "not answered yet"}
            </p>
          </div>
        ))}
        {details.questions.length === 0 && <Empty>Its agents have asked nothing.</Empty>}
      </Section>
    </div>
  );
}

function Note({ title, text }: { title: string; text: string | undefined }) {
  return (
    <Section title={title}>
      {text ? <pre className={styles.output}>{text}</pre> : <Empty>Nothing is noted.</Empty>}
    </Section>
  );
}
