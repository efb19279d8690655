/** `@gatehouse/client/fastify`: docs/client.md. */
export { protectFastify as protect } from '../protect/protect-fastify.ts';
export { outcomeOfStatus, type GuardedRequest, type ProtectOptions } from '../protect/protection.ts';
