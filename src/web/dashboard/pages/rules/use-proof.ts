import type { OwnRuleBody } from '../../../../contract/wire-types.ts';
import { useUrlState } from '../../url-state.ts';
import { conditionOf, type OwnRuleForm } from './own-rule-form.ts';
import { type ShownBacktest, useBacktest } from './use-backtest.ts';

/** Conditions that backtests of this page were started with, by their ids; a reloaded page does not know them. */
const started = new Map<string, string>();

export interface Proof {
  /** Null before a backtest was started. */
  readonly shown: ShownBacktest | null;
  readonly isOfOtherRule: boolean;
  /** What the rule, as it is written now, fired on in a backtest that succeeded; null without one. */
  readonly touched: OwnRuleBody['predicted'];
  readonly onStarted: (id: string) => void;
}

/** The backtest of the URL, and what it says about the rule as it is written now. */
export function useProof(form: OwnRuleForm): Proof {
  const url = useUrlState();
  const id = url.get('backtest');
  const shown = useBacktest(id);
  const condition = started.get(id);
  const isSame = condition === conditionOf(form);
  const counted =
    shown.job?.status === 'succeeded' ? shown.job.rules?.find(({ code }) => code === form.code) : undefined;
  return {
    shown: id === '' ? null : shown,
    isOfOtherRule: condition !== undefined && !isSame,
    touched: counted !== undefined && isSame ? { touched: counted.touched, decisions: counted.decisions } : null,
    onStarted(newId) {
      started.set(newId, conditionOf(form));
      url.set({ backtest: newId }, { replace: true });
    },
  };
}
