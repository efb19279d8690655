import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { type ApiFault, getJson, toFault, v1 } from '../../api.ts';

export type LoadedDecision =
  | { readonly data: ExplainedDecisionBody; readonly fault: null }
  | { readonly data: null; readonly fault: ApiFault };

export interface Decisions {
  /** undefined: not here yet. */
  readonly get: (id: string) => LoadedDecision | undefined;
  readonly retry: (id: string) => void;
}

/** Loads decisions by id, each once. `ids`: the one that is shown and those that come after it. */
export function useDecisions(ids: readonly string[]): Decisions {
  const loaded = useMemo(() => signal<ReadonlyMap<string, LoadedDecision>>(new Map()), []);
  const requested = useMemo(() => new Set<string>(), []);
  const end = useMemo(() => new AbortController(), []);
  useEffect(() => () => end.abort(), []);
  const load = async (id: string): Promise<void> => {
    requested.add(id);
    let one: LoadedDecision;
    try {
      const data = await getJson<ExplainedDecisionBody>(v1(`/decisions/${id}`), { signal: end.signal });
      one = { data, fault: null };
    } catch (error) {
      if (end.signal.aborted) return;
      one = { data: null, fault: toFault(error) };
    }
    loaded.value = new Map(loaded.peek()).set(id, one);
  };
  const wanted = ids.join();
  useEffect(() => {
    for (const id of ids) if (!requested.has(id)) void load(id);
  }, [wanted]);
  const now = loaded.value;
  return {
    get: (id) => now.get(id),
    retry: (id) => {
      const rest = new Map(loaded.peek());
      rest.delete(id);
      loaded.value = rest;
      void load(id);
    },
  };
}
