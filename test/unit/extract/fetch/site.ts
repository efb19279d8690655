import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedClient, type GuardedClient } from '../../../../src/egress/guarded-client.ts';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { BodyCache } from '../../../../src/extract/fetch/body-cache.ts';
import type { DomainRequest } from '../../../../src/extract/fetch/fetch-parts.ts';
import { RobotsCache } from '../../../../src/extract/fetch/robots-cache.ts';
import { createSource, type CountedSource, type SourceParts } from '../../../../src/extract/fetch/guarded-source.ts';

export interface SiteAnswer {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

export interface Seen {
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

/** Responses by path; `null` is a 404. A function gets the number of earlier requests for the path. */
export type SiteTable = Readonly<
  Record<string, SiteAnswer | string | ((seen: Seen, times: number) => SiteAnswer | string)>
>;

/** A site on loopback that responds under any name and records its requests. By default it has no robots.txt. */
export interface Site {
  readonly port: number;
  /** `http://<name>:<port>` */
  at(name: string): string;
  readonly seen: readonly Seen[];
  paths(): readonly string[];
  close(): Promise<void>;
}

export async function startSite(table: SiteTable): Promise<Site> {
  const seen: Seen[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { url: path = '/', headers } = request;
    const host = (headers.host ?? '').replace(/:\d+$/, '');
    const now = { host, path, headers };
    const times = seen.filter((before) => before.path === path && before.host === host).length;
    seen.push(now);
    const entry = table[`${host}${path}`] ?? table[path] ?? { status: 404, body: 'nothing here' };
    const given = typeof entry === 'function' ? entry(now, times) : entry;
    const answer = typeof given === 'string' ? { body: given } : given;
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/html; charset=utf-8', ...answer.headers });
    response.end(answer.body ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    at: (name) => `http://${name}:${port}`,
    seen,
    paths: () => seen.map(({ path }) => path),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A source that uses the real client, with a clock that advances only by waits. */
export interface TestSource {
  readonly source: CountedSource;
  readonly waits: readonly number[];
  readonly permits: readonly string[];
  readonly reports: readonly (readonly [domain: string, wish: DomainRequest])[];
  /** Number of tokens that were not released. */
  readonly open: () => number;
  readonly pass: (ms: number) => void;
  readonly parts: SourceParts;
}

export const START_MS = Date.UTC(2026, 10, 21, 6);

export function testSource(client: Pick<GuardedClient, 'request'>, more: Partial<SourceParts> = {}): TestSource {
  const waits: number[] = [];
  const permits: string[] = [];
  const reports: (readonly [string, DomainRequest])[] = [];
  let open = 0;
  let nowMs = START_MS;
  const parts: SourceParts = {
    client,
    polite: {
      permit(domain) {
        permits.push(domain);
        open++;
        return Promise.resolve();
      },
      release() {
        open--;
      },
      report(domain, wish) {
        reports.push([domain, wish]);
      },
    },
    robots: new RobotsCache(),
    bodies: new BodyCache(),
    clock: {
      nowMs: () => nowMs,
      wait(ms) {
        waits.push(ms);
        nowMs += ms;
        return Promise.resolve();
      },
    },
    random: () => 0.5,
    userAgent: 'Gatehouse/0.1',
    session: null,
    base: null,
    ...more,
  };
  return {
    source: createSource(parts),
    waits,
    permits,
    reports,
    open: () => open,
    pass: (ms) => {
      nowMs += ms;
    },
    parts,
  };
}

/** The real client; all names resolve to loopback. */
export function loopbackClient(): GuardedClient {
  return createGuardedClient({ allow: ['127.0.0.0/8'], lookup: () => Promise.resolve(['127.0.0.1']) });
}

/** Returns the failure's reason and whether the job may be retried. */
export async function failureOf(promise: Promise<unknown>): Promise<readonly [reason: string, retryable: boolean]> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof SourceFailure) return [error.reason, error.retryable];
    throw error;
  }
  throw new Error('it did not fail');
}
