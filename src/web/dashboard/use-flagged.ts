import type { Decision } from '../../contract/vocabulary.ts';
import type { LoggedDecisionPage, LoggedDecisionRow } from '../../contract/wire-types.ts';
import { v1 } from './api.ts';
import { type Live, useLive } from './use-live.ts';

/** The newest decisions that are not ALLOW. The API filters by one value, so each value is a request of its own. */
export function useFlagged(rows: number, everyMs: number): Live<readonly LoggedDecisionRow[]> {
  const urlOf = (decision: Decision): string => v1('/decisions', { decision, limit: rows });
  const block = useLive<LoggedDecisionPage>(urlOf('BLOCK'), { everyMs });
  const review = useLive<LoggedDecisionPage>(urlOf('REVIEW'), { everyMs });
  const challenge = useLive<LoggedDecisionPage>(urlOf('SOFT_CHALLENGE'), { everyMs });
  const watch = useLive<LoggedDecisionPage>(urlOf('ALLOW_WATCH'), { everyMs });
  const all = [block, review, challenge, watch];
  const isKnown = all.every(({ data }) => data !== undefined);
  const faulty = all.find(({ fault }) => fault !== null);
  const data = all
    .flatMap((each) => each.data?.data ?? [])
    .sort((a, b) => b.occurred_at - a.occurred_at || (a.request_id < b.request_id ? 1 : -1))
    .slice(0, rows);
  return {
    data: isKnown ? data : undefined,
    fault: faulty?.fault ?? null,
    loading: !isKnown && faulty === undefined,
    asOfMs: isKnown ? Math.min(...all.map(({ asOfMs }) => asOfMs ?? 0)) : null,
    retryAtMs: faulty?.retryAtMs ?? null,
    refresh: () => {
      for (const each of all) each.refresh();
    },
  };
}
