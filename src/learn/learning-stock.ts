/** One stored decision, as far as it matters for learning. */
export interface StockRow {
  readonly occurredAtMs: number;
  readonly eventType: string;
  /** Identifies the session, or the device where the session is not kept; null without a session token. */
  readonly session: string | null;
  /** Whether a feature row is stored that this build can read. */
  readonly hasFeatures: boolean;
  readonly isBlocked: boolean;
  readonly label: 'fraud' | 'legitimate' | null;
}

/** What there is to learn from. Rows are decisions with a feature row; the other decisions are only counted. */
export interface LearningStock {
  readonly decisions: number;
  readonly rows: number;
  readonly labels: {
    readonly fraud: number;
    readonly legitimate: number;
    readonly none: number;
    readonly blocked: number;
  };
  /** Sessions with a row and a label. */
  readonly fraudSessions: number;
  readonly honestSessions: number;
  /** Days (UTC) with rows. */
  readonly days: number;
  /** Rows by event type, most first. */
  readonly eventTypes: readonly (readonly [string, number])[];
  /** What is missing for training, such as `fraud sessions 0 of 150`; empty if nothing is. */
  readonly missing: readonly string[];
  /** Whether a model from it may only run in the shadow. */
  readonly isShadowOnly: boolean;
}

/** Choice: with fewer known fraud sessions a forest repeats single cases. */
const FRAUD_SESSIONS_MIN = 150;
/** Choice: below this a model is only compared, not used. */
const FRAUD_SESSIONS_ACTIVE_MIN = 500;
/** Choice: later rows stop the training and choose the threshold, and each of these parts must be large enough. */
const ROWS_MIN = 15_000;

const DAY_MS = 86_400_000;

/** Counts what there is to learn from, row by row. */
export class StockCounter {
  #decisions = 0;
  #rows = 0;
  #fraud = 0;
  #legitimate = 0;
  #blocked = 0;
  readonly #fraudSessions = new Set<string>();
  readonly #honestSessions = new Set<string>();
  readonly #days = new Set<number>();
  readonly #eventTypes = new Map<string, number>();

  add({ occurredAtMs, eventType, session, hasFeatures, isBlocked, label }: StockRow): void {
    this.#decisions++;
    if (!hasFeatures) return;
    this.#rows++;
    this.#days.add(Math.floor(occurredAtMs / DAY_MS));
    this.#eventTypes.set(eventType, (this.#eventTypes.get(eventType) ?? 0) + 1);
    if (label === null) {
      if (isBlocked) this.#blocked++;
      return;
    }
    if (label === 'fraud') this.#fraud++;
    else this.#legitimate++;
    if (session !== null) (label === 'fraud' ? this.#fraudSessions : this.#honestSessions).add(session);
  }

  stock(): LearningStock {
    const fraudSessions = this.#fraudSessions.size;
    const missing = [
      ...(fraudSessions < FRAUD_SESSIONS_MIN ? [`fraud sessions ${fraudSessions} of ${FRAUD_SESSIONS_MIN}`] : []),
      ...(this.#rows < ROWS_MIN ? [`rows ${this.#rows} of ${ROWS_MIN}`] : []),
    ];
    return {
      decisions: this.#decisions,
      rows: this.#rows,
      labels: {
        fraud: this.#fraud,
        legitimate: this.#legitimate,
        none: this.#rows - this.#fraud - this.#legitimate,
        blocked: this.#blocked,
      },
      fraudSessions,
      honestSessions: this.#honestSessions.size,
      days: this.#days.size,
      eventTypes: [...this.#eventTypes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)),
      missing,
      isShadowOnly: fraudSessions < FRAUD_SESSIONS_ACTIVE_MIN,
    };
  }
}
