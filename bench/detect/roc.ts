/** Number of distinct scores: 0 to 1,000 tenths. */
const TENTHS = 1_001;
/** A threshold above the maximum score. */
const NOTHING = 101;

export interface RocPoint {
  /** Threshold: sessions with at least this score count as detected. */
  readonly score: number;
  /** Share of honest sessions with at least that score. */
  readonly falseAlarms: number;
  /** Share of attack sessions with at least that score. */
  readonly catch: number;
}

export interface Roc {
  /**
   * Area under the curve: the probability that an attack session scores higher than an honest one. NaN unless there are sessions of both
   * kinds.
   */
  readonly area: number;
  /** Sorted by descending score: one point per score that occurs, plus the end point where nothing is detected. */
  readonly points: readonly RocPoint[];
}

/** Computes the curve over the sessions' highest scores. Pairs of equal score count as half, as if a coin decided between them. */
export function computeRoc(sessions: Iterable<{ readonly score: number; readonly isAttack: boolean }>): Roc {
  const honest = new Float64Array(TENTHS);
  const attacks = new Float64Array(TENTHS);
  let honestAll = 0;
  let attacksAll = 0;
  for (const { score, isAttack } of sessions) {
    const at = Math.min(TENTHS - 1, Math.max(0, Math.round(score * 10)));
    if (isAttack) {
      attacks[at] = (attacks[at] ?? 0) + 1;
      attacksAll++;
    } else {
      honest[at] = (honest[at] ?? 0) + 1;
      honestAll++;
    }
  }
  const points: RocPoint[] = [{ score: NOTHING, falseAlarms: 0, catch: 0 }];
  if (honestAll === 0 || attacksAll === 0) return { area: Number.NaN, points };
  let area = 0;
  let alarms = 0;
  let caught = 0;
  for (let at = TENTHS - 1; at >= 0; at--) {
    const [more, moreCaught] = [honest[at] ?? 0, attacks[at] ?? 0];
    if (more === 0 && moreCaught === 0) continue;
    area += (more / honestAll) * ((caught + moreCaught / 2) / attacksAll);
    alarms += more;
    caught += moreCaught;
    points.push({ score: at / 10, falseAlarms: alarms / honestAll, catch: caught / attacksAll });
  }
  return { area, points };
}
