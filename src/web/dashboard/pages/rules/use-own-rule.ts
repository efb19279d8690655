import { useEffect, useState } from 'preact/hooks';
import type { OwnRuleBody } from '../../../../contract/wire-types.ts';
import { type ApiFault, readJson, request, toFault, v1 } from '../../api.ts';

/** A rule with the tag that its next write names, so that nobody's change is overwritten. */
export interface LoadedRule {
  readonly rule: OwnRuleBody;
  readonly etag: string;
}

type Loading =
  | { readonly kind: 'new' | 'loading' }
  | { readonly kind: 'loaded'; readonly rule: LoadedRule }
  | { readonly kind: 'fault'; readonly fault: ApiFault };

/** Reads a rule, once; null for a new one. */
export function useOwnRule(code: string | null): Loading & { readonly reload: () => void } {
  const [state, setState] = useState<Loading>({ kind: code === null ? 'new' : 'loading' });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (code === null) return undefined;
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      try {
        const response = await request(v1(`/rules/${encodeURIComponent(code)}`), { signal: abort.signal });
        const rule = await readJson<OwnRuleBody>(response);
        setState({ kind: 'loaded', rule: { rule, etag: response.headers.get('etag') ?? '' } });
      } catch (error) {
        if (!abort.signal.aborted) setState({ kind: 'fault', fault: toFault(error) });
      }
    };
    void read();
    return () => abort.abort();
  }, [code, turn]);
  return { ...state, reload: () => setTurn((n) => n + 1) };
}
