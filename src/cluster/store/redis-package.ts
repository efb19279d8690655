/** Parts of the client package for the link. Apart from its users, so that it is a part of the bundle that is loaded on demand. */
export { ErrorReply, RedisClient } from '@redis/client';
export { boundReplies } from './reply-bound.ts';
