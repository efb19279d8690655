import type { OwnRule } from '../risk/policy/own-rule.ts';
import type { BacktestResult } from './backtest.ts';

/** Messages between the server and the process of a backtest. */

export interface BacktestTask {
  readonly kind: 'start';
  readonly dataDir: string;
  readonly customer: number;
  /** Text of a policy file; null for the present one. */
  readonly policy: string | null;
  readonly rules: readonly OwnRule[] | null;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly geoipDir: string;
  readonly geoipPackages: boolean;
  /** Hex digits by purpose: those of the days of the request log, and of records. */
  readonly keys: Readonly<Record<string, string>>;
  readonly recordKeys: Readonly<Record<'links' | 'requests' | 'grants' | 'lists' | 'velocity', string>>;
}

export type BacktestOrder = BacktestTask | { readonly kind: 'cancel' };

export type BacktestSignal =
  | { readonly kind: 'progress'; readonly share: number; readonly events: number }
  | { readonly kind: 'done'; readonly result: BacktestResult }
  | { readonly kind: 'failed'; readonly detail: string };
