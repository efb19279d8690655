/** `@gatehouse/client/next`: docs/client.md. */
export { protectNext as protect } from '../protect/protect-next.ts';
export { outcomeOfStatus, type GuardedRequest, type ProtectOptions } from '../protect/protection.ts';
