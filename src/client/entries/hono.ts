/** `@gatehouse/client/hono`: docs/client.md. */
export { protectHono as protect } from '../protect/protect-hono.ts';
export { outcomeOfStatus, type GuardedRequest, type ProtectOptions } from '../protect/protection.ts';
