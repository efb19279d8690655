import type { OwnRuleBody } from '../../../../contract/wire-types.ts';
import { now } from '../../now.ts';
import { useUrlState } from '../../url-state.ts';
import { behaviourOf, conditionOf, type OwnRuleForm } from './own-rule-form.ts';
import { isBacktestPending, type ShownBacktest, useBacktest } from './use-backtest.ts';

interface StartedBacktest {
  readonly code: string;
  readonly condition: string;
  readonly behaviour: string;
  /** Unix seconds. */
  readonly at: number;
}

/** Backtests that this page started, by their ids, the newest last; a reloaded page does not know them. */
const started = new Map<string, StartedBacktest>();

export interface Proof {
  /** Null before a backtest was started. */
  readonly shown: ShownBacktest | null;
  readonly isRunning: boolean;
  /** When the backtest of an earlier version of the rule was started, Unix seconds; null if it is of the rule as it is written now. */
  readonly olderFrom: number | null;
  /** What the rule, as it is written now, fired on in a backtest that succeeded; null without one. */
  readonly touched: OwnRuleBody['predicted'];
  readonly onStarted: (id: string) => void;
}

/** The backtest of the URL, else the newest of this rule, and what it says about the rule as it is written now. */
export function useProof(form: OwnRuleForm): Proof {
  const url = useUrlState();
  const id = url.get('backtest') || newestOf(form.code);
  const shown = useBacktest(id);
  const of = started.get(id);
  const job = shown.job;
  const counted = job?.status === 'succeeded' ? job.rules?.find(({ code }) => code === form.code) : undefined;
  const isSameCondition = of?.condition === conditionOf(form);
  return {
    shown: id === '' ? null : shown,
    isRunning: job !== null && isBacktestPending(job),
    olderFrom: of === undefined || of.behaviour === behaviourOf(form) ? null : of.at,
    touched:
      counted !== undefined && isSameCondition ? { touched: counted.touched, decisions: counted.decisions } : null,
    onStarted(newId) {
      const { code } = form;
      const behaviour = behaviourOf(form);
      started.set(newId, { code, condition: conditionOf(form), behaviour, at: Math.floor(now.value) });
      url.set({ backtest: newId }, { replace: true });
    },
  };
}

/** '' without one. */
function newestOf(code: string): string {
  let newest = '';
  for (const [id, one] of started) if (one.code === code) newest = id;
  return newest;
}
