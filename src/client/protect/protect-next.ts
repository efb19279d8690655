import type { Gatehouse } from '../gatehouse.ts';
import { Protection, readFields, type GuardedRequest, type ProtectOptions } from './protection.ts';

export type RouteHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

export type GuardedRouteHandler<Rest extends readonly unknown[]> = (
  request: Request & { readonly gatehouse: GuardedRequest },
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * Returns a function that wraps a route handler: the decision is `request.gatehouse`, and the outcome is reported after the response.
 * `identify` and `sessionToken` get a copy of the request, whose body they may read. The address is that of a header, so set `trustProxy`.
 */
export function protectNext(
  client: Gatehouse,
  eventType: string,
  options?: ProtectOptions<Request, readonly [Request], Response | Promise<Response>>,
) {
  const protection = new Protection(client, eventType, options);
  return <Rest extends readonly unknown[]>(handler: GuardedRouteHandler<Rest>): RouteHandler<Rest> =>
    async (request, ...rest) => {
      const cookies: string[] = [];
      const copy = request.clone();
      const start = await protection.start({
        request: copy,
        visitor: { headers: request.headers, url: request.url },
        body: options?.sessionToken === undefined ? await fieldsOf(request.clone()) : undefined,
        setCookie: (header) => cookies.push(header),
      });
      const guarded = Object.assign(request, { gatehouse: start.guarded });
      if (start.handler !== undefined) return withCookies(await start.handler(guarded), cookies);
      if (start.isRefused) return withCookies(new Response('Forbidden', { status: 403 }), cookies);
      const response = await handler(guarded, ...rest);
      start.finish(response.status);
      return withCookies(response, cookies);
    };
}

/** Copies the response, since the headers of some cannot be changed. */
function withCookies(response: Response, cookies: readonly string[]): Response {
  if (cookies.length === 0) return response;
  const headers = new Headers(response.headers);
  for (const cookie of cookies) headers.append('Set-Cookie', cookie);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

function fieldsOf(copy: Request): Promise<unknown> {
  return readFields(copy.headers, {
    json: () => copy.json(),
    form: async () => Object.fromEntries(await copy.formData()),
  });
}
