import type { Column } from "./bill";
import styles from "./costs.module.css";

const HIGH = 100;
const WIDEST = 0.85;
const FEW = 14;

/** Columns over time, each of one or more parts; what one says is shown on hover. */
export function Chart(props: { about: string; columns: readonly Column[]; largest: string }) {
  const sums = props.columns.map((each) => each.parts.reduce((sum, part) => sum + part.value, 0));
  const most = Math.max(...sums, 0) || 1;
  const width = Math.min(WIDEST, props.columns.length / FEW);
  return (
    <figure className={styles.chart}>
      <span className={`${styles.largest} num quiet`}>{props.largest}</span>
      <svg
        viewBox={`0 0 ${Math.max(props.columns.length, 1)} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={props.about}
      >
        {props.columns.map((column, at) => (
          <g key={column.label}>
            <title>{column.title}</title>
            <rect className={styles.hover} x={at} y={0} width={1} height={HIGH} />
            <Stack column={column} at={at} most={most} width={width} />
          </g>
        ))}
      </svg>
      <figcaption className="num quiet">
        <span>{props.columns[0]?.label}</span>
        <span>{props.columns.at(-1)?.label}</span>
      </figcaption>
    </figure>
  );
}

function Stack(props: { column: Column; at: number; most: number; width: number }) {
  const { column, at, most, width } = props;
  let top = HIGH;
  return column.parts.map((part) => {
    const height = (part.value / most) * HIGH;
    top -= height;
    return (
      <rect
        key={part.kind}
        className={styles[part.kind]}
        x={at + (1 - width) / 2}
        y={top}
        width={width}
        height={height}
      />
    );
  });
}

/** How busy somebody was in each hour or on each day: the fuller, the darker. */
export function Strip({ about, shares }: { about: string; shares: readonly number[] }) {
  return (
    <svg
      className={styles.strip}
      viewBox={`0 0 ${Math.max(shares.length, 1)} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={about}
    >
      {shares.map((share, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an hour is its place
        <rect key={at} x={at} y={0} width={0.9} height={1} fillOpacity={0.06 + share * 0.94} />
      ))}
    </svg>
  );
}
