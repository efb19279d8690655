import type { Gatehouse } from '../gatehouse.ts';
import type { VisitorRequest } from '../visitor.ts';
import { Protection, type ProtectOptions } from './protection.ts';

export interface KoaLikeContext {
  readonly req: VisitorRequest;
  readonly request: object;
  readonly res: { readonly statusCode: number; once(event: 'finish', listener: () => void): unknown };
  readonly state: Record<string, unknown>;
  status: number;
  body: unknown;
  append(name: string, value: string): void;
}

/** Returns a middleware that decides about a request, sets `ctx.state.gatehouse` and reports the outcome when the response was sent. */
export function protectKoa<Context extends KoaLikeContext = KoaLikeContext>(
  client: Gatehouse,
  eventType: string,
  options?: ProtectOptions<Context, readonly [Context], unknown>,
) {
  const protection = new Protection(client, eventType, options);
  return async (context: Context, next: () => Promise<unknown>): Promise<void> => {
    const start = await protection.start({
      request: context,
      visitor: context.req,
      body: (context.request as { readonly body?: unknown }).body,
      setCookie: (header) => context.append('Set-Cookie', header),
    });
    context.state['gatehouse'] = start.guarded;
    context.res.once('finish', () => start.finish(context.res.statusCode));
    if (start.handler !== undefined) await start.handler(context);
    else if (start.isRefused) {
      context.status = 403;
      context.body = 'Forbidden';
    } else await next();
  };
}
