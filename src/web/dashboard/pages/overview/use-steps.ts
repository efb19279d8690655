import { useState } from 'preact/hooks';
import type { ListEntryRow, LoggedDecisionPage, WebhookRow, WirePage } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { useLive } from '../../use-live.ts';

const STEP_MS = 3_000;
const ROWS = 50;

export interface Steps {
  /** Nothing was ever decided: the quick start is shown until somebody hides it. */
  readonly isNew: boolean;
  readonly hasDecision: boolean;
  readonly hasToken: boolean;
  readonly hasEntry: boolean;
  readonly hasWebhook: boolean;
  readonly hide: () => void;
}

/** The first steps that were done. Polled only while one is missing. */
export function useSteps(): Steps {
  const [isHidden, setHidden] = useState(false);
  const [wasEmpty, setWasEmpty] = useState(false);
  const decisions = useLive<LoggedDecisionPage>(
    v1('/decisions', { limit: ROWS }),
    wasEmpty ? { everyMs: STEP_MS } : {},
  );
  const hasDecision = decisions.data === undefined || decisions.data.data.length > 0;
  // The page stays a quick start after the first decision, so that the other steps can be seen to succeed.
  if (!hasDecision && !wasEmpty) setWasEmpty(true);
  const isNew = wasEmpty && !isHidden;
  const options = { everyMs: STEP_MS };
  const entries = useLive<WirePage<ListEntryRow>>(isNew ? v1('/lists', { limit: 1 }) : null, options);
  const webhooks = useLive<WirePage<WebhookRow>>(isNew ? v1('/webhooks', { limit: 1 }) : null, options);
  return {
    isNew,
    hasDecision: decisions.data !== undefined && hasDecision,
    hasToken: decisions.data?.data.some(({ session_mode: mode }) => mode === 'full' || mode === 'degraded') === true,
    hasEntry: (entries.data?.data.length ?? 0) > 0,
    hasWebhook: (webhooks.data?.data.length ?? 0) > 0,
    hide: () => setHidden(true),
  };
}
