import type { Gatehouse } from '../gatehouse.ts';
import type { VisitorRequest } from '../visitor.ts';
import { Protection, type GuardedRequest, type ProtectOptions } from './protection.ts';

export interface FastifyLikeRequest {
  readonly raw: VisitorRequest;
  readonly body?: unknown;
  gatehouse?: GuardedRequest;
}

export interface FastifyLikeReply {
  readonly raw: { readonly statusCode: number; once(event: 'finish', listener: () => void): unknown };
  header(name: string, value: string): unknown;
  code(status: number): { send(text: string): unknown };
}

/** Returns a `preHandler` hook that decides about a request, puts `gatehouse` on it and reports its outcome when the reply was sent. */
export function protectFastify<
  Req extends FastifyLikeRequest = FastifyLikeRequest & { readonly body: Readonly<Record<string, string | undefined>> },
  Reply extends FastifyLikeReply = FastifyLikeReply,
>(client: Gatehouse, eventType: string, options?: ProtectOptions<Req, readonly [Req, Reply], unknown>) {
  const protection = new Protection(client, eventType, options);
  return async (request: Req, reply: Reply): Promise<unknown> => {
    const start = await protection.start({
      request,
      visitor: request.raw,
      body: request.body,
      setCookie: (header) => reply.header('set-cookie', header),
    });
    request.gatehouse = start.guarded;
    reply.raw.once('finish', () => start.finish(reply.raw.statusCode));
    if (start.handler !== undefined) {
      await start.handler(request, reply);
      return reply;
    }
    return start.isRefused ? reply.code(403).send('Forbidden') : undefined;
  };
}
