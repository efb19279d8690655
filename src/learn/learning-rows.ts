/** A stored decision with its feature row. */
export interface LearningRow {
  readonly requestId: string;
  readonly eventType: string;
  /** Version of the policy that decided; null in rows of older builds. */
  readonly policyVersion: string | null;
  readonly atMs: number;
  /** The session, or the device where the session is not kept; null without a session token. */
  readonly session: string | null;
  /** Identities of the decision, such as those of its account. */
  readonly accounts: readonly string[];
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
  /** The latest: choose the threshold. */
  readonly latest: readonly JudgedRow[];
}

/** The next 20 % stop the training, and the last 10 % choose the threshold. */
const TRAINING_UNTIL = 0.7;
const STOPPING_UNTIL = 0.9;

/** Splits by time. Rows that share a session or an account stay together, at the time of their first. */
export function splitRows(rows: readonly LearningRow[], judged: readonly JudgedRow[]): SplitRows {
  const groups = groupsOf(rows, judged);
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

/** Groups rows that are connected by a session or an account, by union and find. */
function groupsOf(rows: readonly LearningRow[], judged: readonly JudgedRow[]): Map<number, JudgedRow[]> {
  const parents = Int32Array.from(rows.keys());
  const find = (row: number): number => {
    let at = row;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at] ?? at] ?? at;
      at = parents[at] ?? at;
    }
    return at;
  };
  const firstWith = new Map<string, number>();
  for (const { row } of judged) {
    const { session, accounts } = rows[row] ?? { session: null, accounts: [] };
    for (const key of session === null ? accounts : [...accounts, session]) {
      const first = firstWith.get(key);
      if (first === undefined) firstWith.set(key, row);
      else parents[find(row)] = find(first);
    }
  }
  const groups = new Map<number, JudgedRow[]>();
  for (const one of judged) {
    const root = find(one.row);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [one]);
    else group.push(one);
  }
  return groups;
}
