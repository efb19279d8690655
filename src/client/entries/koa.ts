/** `@gatehouse/client/koa`: docs/client.md. */
export { protectKoa as protect } from '../protect/protect-koa.ts';
export { outcomeOfStatus, type GuardedRequest, type ProtectOptions } from '../protect/protection.ts';
