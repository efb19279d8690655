import { createAuthMiddleware } from 'better-auth/api';
import { Gatehouse, GatehouseError } from '@gatehouse/client';

/**
 * Plugin for better-auth: `plugins: [gatehouse({ apiUrl, apiKey, security: { action: 'block' } })]`. Decides before sign-in and sign-up,
 * and reports how they ended. Options are named as those of better-auth's own `sentinel`.
 *
 * `security.action`: `log` (default) never holds anybody up; `challenge` answers SOFT_CHALLENGE with 423 and the code GATEHOUSE_CHALLENGE;
 * `block` also answers BLOCK with 403. `trustProxy` and others: docs/client.md, "The visitor's address". `onChallenge(ctx, decision)`:
 * returns true where the visitor has given the second proof, for example a captcha in a header.
 */
export function gatehouse({ apiUrl, apiKey, security = {}, onChallenge, timeoutMs, onFailure, ...visitor }) {
  const client = new Gatehouse({
    url: apiUrl,
    key: apiKey,
    ...(timeoutMs && { timeoutMs }),
    ...(onFailure && { onFailure }),
  });
  const action = security.action ?? 'log';
  /** Context → its decision, until the request ends. */
  const decisions = new WeakMap();

  async function before(ctx) {
    if (ctx.request === undefined) return; // called by the server itself, without a visitor
    let decision;
    try {
      decision = await client.decide({
        ...client.fromRequest(ctx.request, visitor),
        event_type: EVENTS[ctx.path],
        session_token: ctx.headers?.get('x-session-token') ?? visitOf(ctx),
        entity_keys: { email: ctx.body?.email ?? ctx.body?.username },
      });
    } catch (error) {
      if (action !== 'log' && error instanceof GatehouseError) throw error;
      ctx.context.logger.error('gatehouse: not protected:', error);
      return;
    }
    if (action === 'block' && decision.decision === 'BLOCK') return refusal(403, 'GATEHOUSE_BLOCKED');
    const isChallenged = action !== 'log' && decision.decision === 'SOFT_CHALLENGE';
    if (isChallenged && (await onChallenge?.(ctx, decision)) !== true) return refusal(423, 'GATEHOUSE_CHALLENGE');
    decisions.set(ctx.request, { decision, isChallenged });
  }

  async function after(ctx) {
    const made = decisions.get(ctx.request);
    if (made === undefined) return;
    const { returned } = ctx.context;
    const status = returned instanceof Error ? returned.statusCode : 200;
    if (status >= 500 || status === 429) return;
    void client.outcome(made.decision, status >= 400 ? 'failed' : made.isChallenged ? 'challenge_passed' : 'succeeded');
  }

  return {
    id: 'gatehouse',
    hooks: {
      before: [{ matcher: isGuarded, handler: createAuthMiddleware(before) }],
      after: [{ matcher: isGuarded, handler: createAuthMiddleware(after) }],
    },
  };
}

const EVENTS = {
  '/sign-in/email': 'login',
  '/sign-in/username': 'login',
  '/sign-up/email': 'signup',
};

const isGuarded = ({ path }) => Object.hasOwn(EVENTS, path ?? '');

/** A random cookie stands in for the collector's token, which the page sends as `x-session-token`. */
function visitOf(ctx) {
  const known = /(?:^|; )gatehouse_visit=([0-9a-f]{32})/.exec(ctx.headers?.get('cookie') ?? '')?.[1];
  if (known !== undefined) return known;
  const visit = crypto.randomUUID().replaceAll('-', '');
  ctx.setCookie('gatehouse_visit', visit, { httpOnly: true, sameSite: 'lax', path: '/' });
  return visit;
}

function refusal(status, code) {
  return new Response(JSON.stringify({ code }), { status, headers: { 'content-type': 'application/json' } });
}
