import { decide, newcomer } from '../../support/requests.ts';
import type { SharedServer } from '../../support/shared-server.ts';
import { HOSTILE } from './dashboard-harness.ts';

const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/149.0.0.0 Safari/537.36';

export interface MadeDecision {
  readonly request_id: string;
  readonly decision: string;
}

/** Asks for a decision about a headless browser of a new visitor, which is flagged. Returns the response. */
export async function makeFlagged(
  api: SharedServer,
  change: Readonly<Record<string, unknown>> = {},
): Promise<MadeDecision> {
  const { text, status } = await decide(api.url, api.secretKey, {
    ...newcomer(),
    user_agent: HEADLESS,
    event_type: 'login',
    url: 'https://shop.example/login',
    entity_keys: { email: 'anna@example.com' },
    ...change,
  });
  if (status !== 200) throw new Error(text);
  return JSON.parse(text) as MadeDecision;
}

/** Asks for a decision about a calm visitor, which is allowed. */
export async function makeCalm(api: SharedServer): Promise<MadeDecision> {
  const { text, status } = await decide(api.url, api.secretKey, newcomer());
  if (status !== 200) throw new Error(text);
  return JSON.parse(text) as MadeDecision;
}

/** Returns a response of the API with every text replaced by hostile text, except those by which pages find their way. */
export function hostileCopy(value: unknown, key = ''): unknown {
  const KEPT = [
    'request_id',
    'decision',
    'would_be',
    'worst',
    'status',
    'state',
    'next_cursor',
    'session_mode',
    'overridden_by',
    'label',
  ];
  if (typeof value === 'string') return KEPT.includes(key) ? value : HOSTILE;
  if (Array.isArray(value)) return value.map((each) => hostileCopy(each, key));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hostileCopy(each, name)]));
}
