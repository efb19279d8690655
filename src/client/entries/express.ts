/** `@gatehouse/client/express`: docs/client.md. */
export { protectExpress as protect } from '../protect/protect-express.ts';
export { outcomeOfStatus, type GuardedRequest, type ProtectOptions } from '../protect/protection.ts';
