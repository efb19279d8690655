import { useEffect, useState } from 'preact/hooks';
import type { CheckedRuleBody, ProblemBody } from '../../../../contract/wire-types.ts';
import { readJson, request, v1 } from '../../api.ts';
import type { ConditionCheck } from './condition-check.ts';

/** Choice: shorter than the pause after a word. */
const WAIT_MS = 300;

/** Checks a condition while it is written. `unknown`: the server could not be asked; the write checks again. */
export function useConditionCheck(when: string, eventTypes: readonly string[] | null): ConditionCheck {
  const [check, setCheck] = useState<ConditionCheck>({ kind: 'empty' });
  const types = eventTypes?.join(',') ?? '';
  useEffect(() => {
    if (when.trim() === '') {
      setCheck({ kind: 'empty' });
      return undefined;
    }
    setCheck((before) => (before.kind === 'empty' ? { kind: 'checking' } : before));
    const abort = new AbortController();
    const timer = setTimeout(() => {
      void askServer(when, types, abort.signal).then((found) => {
        if (!abort.signal.aborted) setCheck(found);
      });
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [when, types]);
  return check;
}

async function askServer(when: string, types: string, signal: AbortSignal): Promise<ConditionCheck> {
  try {
    const body = { when, sample: true, event_types: types === '' ? null : types.split(',') };
    const response = await request(v1('/rules/check'), { method: 'POST', body, signal, accept: [422] });
    if (response.status === 422)
      return { kind: 'faults', errors: (await readJson<ProblemBody>(response)).errors ?? [] };
    const { cost, warnings, sample = null } = await readJson<CheckedRuleBody>(response);
    return { kind: 'ok', cost, warnings: warnings.flatMap(({ message }) => message ?? []), sample };
  } catch {
    return { kind: 'unknown' };
  }
}
