/** A share with its 95 % interval. */
export interface ShareInterval {
  readonly part: number;
  readonly of: number;
  /** 0 to 1, four decimals; null of nothing. */
  readonly share: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** Source: normal distribution, two-sided 95 %. */
const Z = 1.959964;

/** Returns a share with the interval of Wilson's score, which is right for few events and for shares near 0 and 1. */
export function shareWithInterval(part: number, of: number): ShareInterval {
  if (of === 0) return { part, of, share: null, low: null, high: null };
  const p = part / of;
  const weight = 1 + (Z * Z) / of;
  const centre = (p + (Z * Z) / (2 * of)) / weight;
  const half = (Z / weight) * Math.sqrt((p * (1 - p)) / of + (Z * Z) / (4 * of * of));
  return {
    part,
    of,
    share: rounded(p),
    low: rounded(Math.max(0, centre - half)),
    high: rounded(Math.min(1, centre + half)),
  };
}

function rounded(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
