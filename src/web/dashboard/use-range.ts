import { signal } from '@preact/signals';
import { useUrlState } from './url-state.ts';

/** The range of time in the top bar, kept in the URL and shared by all pages. */

export const RANGES = [
  { id: '15m', title: '15 min', seconds: 900 },
  { id: '1h', title: '1 h', seconds: 3_600 },
  { id: '24h', title: '24 h', seconds: 86_400 },
  { id: '7d', title: '7 d', seconds: 604_800 },
  { id: '30d', title: '30 d', seconds: 2_592_000 },
] as const;

export type RangeId = (typeof RANGES)[number]['id'] | 'custom';

/** Choice: long enough to have something to show on a quiet day, short enough for periods of a minute. */
const RANGE_DEFAULT = '24h';

/** Minutes are kept for 24 h, hours for 30 days. Source: contract, 9.5. */
const MINUTES_KEPT_SECONDS = 86_400;

export interface Range {
  readonly id: RangeId;
  readonly title: string;
  /** Unix seconds. */
  readonly from: number;
  /** Exclusive; the end of the present minute for ranges that end now. */
  readonly to: number;
  readonly seconds: number;
  /** Seconds of a period that `GET /v1/stats` takes for it. */
  readonly step: 60 | 3_600;
  readonly endsNow: boolean;
}

/** The present minute, Unix seconds: ranges that end now move once a minute, so that URLs stay equal meanwhile. */
export const minute = signal(Math.floor(Date.now() / 60_000) * 60);
setInterval(() => {
  const now = Math.floor(Date.now() / 60_000) * 60;
  if (!document.hidden && now !== minute.peek()) minute.value = now;
}, 1_000);

export function readShownRange(query: Readonly<Record<string, string>>, minuteNow: number): Range {
  const { range = '', from: fromText = '', to: toText = '' } = query;
  const from = Number(fromText);
  const to = Number(toText);
  if (range === 'custom' && Number.isSafeInteger(from) && Number.isSafeInteger(to) && 0 < from && from < to) {
    const step = to - from <= MINUTES_KEPT_SECONDS && from >= minuteNow - MINUTES_KEPT_SECONDS ? 60 : 3_600;
    return { id: 'custom', title: 'Custom', from, to, seconds: to - from, step, endsNow: false };
  }
  const known = RANGES.find(({ id }) => id === range) ?? RANGES.find(({ id }) => id === RANGE_DEFAULT) ?? RANGES[0];
  const { id, title, seconds } = known;
  const step = seconds <= MINUTES_KEPT_SECONDS ? 60 : 3_600;
  const end = minuteNow + 60;
  return { id, title, from: end - seconds, to: end, seconds, step, endsNow: true };
}

export interface RangeState {
  readonly range: Range;
  readonly set: (id: RangeId) => void;
  /** Sets a custom range, for example by dragging on a chart. Unix seconds. */
  readonly zoom: (from: number, to: number) => void;
}

export function useRange(): RangeState {
  const url = useUrlState();
  const range = readShownRange(url.query, minute.value);
  return {
    range,
    set: (id) =>
      url.set(
        id === 'custom'
          ? { range: 'custom', from: String(range.from), to: String(range.to) }
          : { range: id === RANGE_DEFAULT ? null : id, from: null, to: null },
      ),
    zoom: (from, to) => {
      const start = Math.floor(from / 60) * 60;
      const end = Math.max(start + 60, Math.ceil(to / 60) * 60);
      url.set({ range: 'custom', from: String(start), to: String(end) });
    },
  };
}
