/** A stored decision with its feature row. */
export interface LearningRow {
  readonly requestId: string;
  readonly eventType: string;
  /** Version of the policy that decided; null in rows of older builds. */
  readonly policyVersion: string | null;
  readonly atMs: number;
  /** The session, or the device where the session is not kept; null without a session token. */
  readonly session: string | null;
  readonly label: 'fraud' | 'legitimate' | null;
  /** Whether the label is the verdict of a review. */
  readonly isReviewed: boolean;
  /** Whether its challenge was passed; null without a challenge. */
  readonly hasPassed: boolean | null;
  readonly isBlocked: boolean;
  /** Whether the rules let it pass. */
  readonly isAllowed: boolean;
  /** Share of such decisions whose row is kept, above 0 to 1: it stands for the others. Null if that is not known. */
  readonly rate: number | null;
}

/** What a row is taken for by, the surest first. */
export const TRUTH_SOURCES = ['label', 'review', 'challenge', 'block', 'unlabelled'] as const;
export type TruthSource = (typeof TRUTH_SOURCES)[number];

/** What a row is taken for, and how much it counts. */
export interface JudgedRow {
  readonly row: number;
  readonly isFraud: boolean;
  readonly weight: number;
  readonly source: TruthSource;
}

/** Choice: a challenge and a BLOCK are the rules' own opinion, and count half of a label. */
const OPINION_WEIGHT = 0.5;
/** Choice: fraud without a label hides among unlabelled rows; most of it is reported within this time. */
const UNLABELLED_WEIGHT = 0.3;
const UNLABELLED_AFTER_MS = 14 * 86_400_000;
/** Choice: a row that stands for more others than this makes the result depend on chance. */
const SAMPLED_WEIGHT_MAX = 10;

/** What the labels of a session say of its other rows. */
interface KnownSession {
  readonly isFraud: boolean;
  readonly source: TruthSource;
}

/**
 * Judges rows: a label counts most and for its whole session, then the end of a challenge, then BLOCK; an older row without any counts as
 * honest, a younger one is left out. A row of a sample stands for the others. `unknownRate` is the share that is kept of rows that do not
 * say it, above 0 to 1.
 */
export function judgeRows(rows: readonly LearningRow[], nowMs: number, unknownRate: number): JudgedRow[] {
  const sessions = knownSessions(rows);
  return rows.flatMap((one, row): JudgedRow[] => {
    const judged = judge(one, sessions.get(one.session ?? '') ?? null, nowMs);
    if (judged === null) return [];
    const sampled = Math.min(SAMPLED_WEIGHT_MAX, 1 / (one.rate ?? unknownRate));
    return [{ row, ...judged, weight: judged.weight * sampled }];
  });
}

function judge(row: LearningRow, session: KnownSession | null, nowMs: number): Omit<JudgedRow, 'row'> | null {
  const known = knownOf(row) ?? session;
  if (known !== null) return { ...known, weight: 1 };
  if (row.hasPassed !== null) return { isFraud: !row.hasPassed, source: 'challenge', weight: OPINION_WEIGHT };
  if (row.isBlocked) return { isFraud: true, source: 'block', weight: OPINION_WEIGHT };
  if (nowMs - row.atMs < UNLABELLED_AFTER_MS) return null;
  return { isFraud: false, source: 'unlabelled', weight: UNLABELLED_WEIGHT };
}

function knownOf({ label, isReviewed }: LearningRow): KnownSession | null {
  return label === null ? null : { isFraud: label === 'fraud', source: isReviewed ? 'review' : 'label' };
}

/** A label counts before a review's, and among equal ones that of a fraud. */
function knownSessions(rows: readonly LearningRow[]): ReadonlyMap<string, KnownSession> {
  const sessions = new Map<string, KnownSession>();
  for (const row of rows) {
    const known = knownOf(row);
    if (row.session === null || known === null) continue;
    const before = sessions.get(row.session);
    const isSurer = before === undefined || (before.source === 'review' && known.source === 'label');
    if (isSurer || (before.source === known.source && known.isFraud)) sessions.set(row.session, known);
  }
  return sessions;
}

export interface SplitRows {
  readonly training: readonly JudgedRow[];
  /** Later: stop the training. */
  readonly stopping: readonly JudgedRow[];
  /** The latest: had no part in the training. Both later parts choose the threshold. */
  readonly latest: readonly JudgedRow[];
}

/** The next 20 % stop the training, and the last 10 % judge it. */
const TRAINING_UNTIL = 0.7;
const STOPPING_UNTIL = 0.9;

/**
 * Splits by time. Rows of a session stay together, at the time of its first.
 * Choice: those of an account do not, because in operation a model also meets people that it was trained on. Measured: kept together, the
 * later parts lacked one in four of the honest sessions, those of people who return, and the threshold came out up to five times as high;
 * the model itself was no better on another week.
 */
export function splitRows(rows: readonly LearningRow[], judged: readonly JudgedRow[]): SplitRows {
  const groups = new Map<string | number, JudgedRow[]>();
  for (const one of judged) {
    const key = rows[one.row]?.session ?? one.row;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  const order = [...groups.values()].sort((a, b) => startOf(rows, a) - startOf(rows, b));
  const parts = { training: [] as JudgedRow[], stopping: [] as JudgedRow[], latest: [] as JudgedRow[] };
  let seen = 0;
  for (const group of order) {
    const share = seen / judged.length;
    const part = share < TRAINING_UNTIL ? 'training' : share < STOPPING_UNTIL ? 'stopping' : 'latest';
    for (const row of group) parts[part].push(row);
    seen += group.length;
  }
  return parts;
}

function startOf(rows: readonly LearningRow[], group: readonly JudgedRow[]): number {
  let start = Infinity;
  for (const { row } of group) start = Math.min(start, rows[row]?.atMs ?? Infinity);
  return start;
}
