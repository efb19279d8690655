import type { Gatehouse } from '../gatehouse.ts';
import { Protection, readFields, type GuardedRequest, type ProtectOptions } from './protection.ts';

export interface HonoLikeContext {
  readonly req: {
    readonly raw: Request;
    readonly url: string;
    json(): Promise<unknown>;
    parseBody(): Promise<Record<string, unknown>>;
  };
  readonly res: Response;
  /** With @hono/node-server it has the connection. */
  readonly env?: unknown;
  set(key: 'gatehouse', value: GuardedRequest): void;
  header(name: string, value: string, options: { readonly append: boolean }): void;
  text(text: string, status: 403): Response;
}

/** Returns a middleware that decides about a request, sets `c.get('gatehouse')` and reports the outcome after the response. */
export function protectHono<Context extends HonoLikeContext = HonoLikeContext>(
  client: Gatehouse,
  eventType: string,
  options: ProtectOptions<Context, readonly [Context], Response | Promise<Response>> = {},
) {
  const protection = new Protection(client, eventType, { addressOf: addressOfNode, ...options });
  return async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const { raw, url } = context.req;
    const start = await protection.start({
      request: context,
      visitor: { headers: raw.headers, url },
      body: options.sessionToken === undefined ? await bodyOf(context) : undefined,
      setCookie: (header) => context.header('Set-Cookie', header, { append: true }),
    });
    context.set('gatehouse', start.guarded);
    if (start.handler !== undefined) return start.handler(context);
    if (start.isRefused) return context.text('Forbidden', 403);
    await next();
    start.finish(context.res.status);
    return undefined;
  };
}

function addressOfNode({ env }: HonoLikeContext): string | undefined {
  const { incoming } = (env ?? {}) as { readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } } };
  return incoming?.socket?.remoteAddress;
}

/** Hono keeps a body that was read, so that the application can read it again. */
function bodyOf({ req }: HonoLikeContext): Promise<unknown> {
  return readFields(req.raw.headers, { json: () => req.json(), form: () => req.parseBody() });
}
