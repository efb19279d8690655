import type { Gatehouse } from '../gatehouse.ts';
import type { VisitorRequest } from '../visitor.ts';
import { Protection, type GuardedRequest, type ProtectOptions } from './protection.ts';

export interface ExpressLikeRequest extends VisitorRequest {
  readonly body?: Readonly<Record<string, string | undefined>>;
  gatehouse?: GuardedRequest;
}

export interface ExpressLikeResponse {
  statusCode: number;
  appendHeader(name: string, value: string): unknown;
  once(event: 'finish', listener: () => void): unknown;
  end(text: string): unknown;
}

/** Returns a middleware that decides about a request, puts `gatehouse` on it and reports its outcome when the response was sent. */
export function protectExpress<
  Req extends ExpressLikeRequest = ExpressLikeRequest,
  Res extends ExpressLikeResponse = ExpressLikeResponse,
>(client: Gatehouse, eventType: string, options?: ProtectOptions<Req, readonly [Req, Res], unknown>) {
  const protection = new Protection(client, eventType, options);
  return (request: Req, response: Res, next: (error?: unknown) => void): void => {
    const run = async (): Promise<boolean> => {
      const start = await protection.start({
        request,
        visitor: request,
        body: request.body,
        setCookie: (header) => response.appendHeader('Set-Cookie', header),
      });
      request.gatehouse = start.guarded;
      response.once('finish', () => start.finish(response.statusCode));
      if (start.handler !== undefined) await start.handler(request, response);
      else if (start.isRefused) {
        response.statusCode = 403;
        response.end('Forbidden');
      } else return true;
      return false;
    };
    void continueAfter(run(), next);
  };
}

async function continueAfter(isToContinue: Promise<boolean>, next: (error?: unknown) => void): Promise<void> {
  let goesOn = false;
  try {
    goesOn = await isToContinue;
  } catch (error) {
    next(error);
    return;
  }
  if (goesOn) next();
}
