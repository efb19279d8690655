import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openlibraryWorld } from '../sources/openlibrary.ts';
import { wordpressWorld } from '../sources/wordpress.ts';
import { bearer } from './manage.ts';
import type { Answer, SendOptions } from './requests.ts';
import { startServer, type RunningServer } from './server.ts';
import { eventually } from './webhooks.ts';

/** A source on this machine, a server that may access it, and a client for extractions. */

export const NOBODYS_EXTRACTION = 'ext_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC';
export const NOBODYS_SESSION = 'ses_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC';
export const EXTRACTION_ID = /^ext_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export interface SourceServer {
  readonly url: string;
  /** Requested targets, in order. */
  readonly targets: readonly string[];
  /** Releases the responses to searches that end in this word, including future ones. */
  release(word: string): void;
  close(): Promise<void>;
}

const TITLE = '"A history of tea"';
const WIDE_TITLE = `"${'A history of tea. '.repeat(230)}"`;

/**
 * A book search and a blog. The words of a search determine its result: `250 books` finds that number of books, `0 books` none, `missing`
 * returns 404; `250 books held-1` is answered after the test releases `held-1`; `wide` books have titles of 4 KB. The blog has 120 posts.
 */
export async function startSource(): Promise<SourceServer> {
  const targets: string[] = [];
  const holds = new Map<string, Hold>();
  const holdOf = (word: string): Hold => {
    const hold = holds.get(word) ?? newHold();
    holds.set(word, hold);
    return hold;
  };
  const server = createServer((request, response) => {
    const target = request.url ?? '';
    targets.push(target);
    const url = new URL(target, 'http://source.example');
    const words = url.searchParams.get('q') ?? '';
    const world =
      url.pathname === '/search.json' ? openlibraryWorld(Number(/^\d+/.exec(words)?.[0] ?? 0)) : wordpressWorld(120);
    const answer = async (): Promise<void> => {
      const word = /held\S*$/.exec(words)?.[0];
      if (word !== undefined) await holdOf(word).released;
      const fake = { method: 'json' as const, url: url.href, headers: {}, accept: null, robots: false };
      const reply = words === 'missing' ? null : world(fake);
      if (typeof reply !== 'object' || reply === null || !('body' in reply)) return void response.writeHead(404).end();
      const body = JSON.stringify(reply.body);
      const isWide = words.split(' ').includes('wide');
      response
        .writeHead(reply.status ?? 200, { ...reply.headers })
        .end(isWide ? body.replaceAll(TITLE, WIDE_TITLE) : body);
    };
    answer().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    targets,
    release: (word) => holdOf(word).release(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Hold {
  readonly released: Promise<void>;
  release(): void;
}

function newHold(): Hold {
  let release = (): void => {};
  const released = new Promise<void>((done) => (release = done));
  return { released, release: () => release() };
}

export function startExtractingServer(
  source: Pick<SourceServer, 'url'>,
  env: Readonly<Record<string, string>> = {},
  dataDir?: string,
): Promise<RunningServer> {
  return startServer({
    ...(dataDir !== undefined && { dataDir }),
    env: {
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
      GATEHOUSE_CONNECTOR_BASE_OPENLIBRARY: source.url,
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
      ...env,
    },
  });
}

/** Creates a request for `count` books; `words` are appended to the query. */
export function books(count: number, more: object = {}, words = ''): object {
  const query = `${count} books${words === '' ? '' : ` ${words}`}`;
  return { connector: 'openlibrary', operation: 'search.works', input: { query }, ...more };
}

export interface Job {
  readonly id: string;
  readonly status: string;
  readonly connector: string;
  readonly operation: string;
  readonly counts: {
    readonly collected: number;
    readonly target: number;
    readonly pages: number;
    readonly errors: number;
    readonly duplicates: number;
  };
  readonly usage: { readonly credits: number; readonly tier: string };
  readonly request_id: string;
  readonly failure?: { readonly reason: string; readonly retryable: boolean };
  readonly delivery: { readonly type: string; readonly status: string };
  readonly finished_at: number | null;
  readonly expires_at: number | null;
}

/** API client of one customer for extractions. */
export function extractionClient(url: string, key: string) {
  const ask = (method: string, path: string, body?: unknown, options?: SendOptions): Promise<Answer> =>
    bearer(url, key, method, path, body, options);
  const create = (body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    ask('POST', '/v1/extractions', body, { headers });
  /** Creates a job and returns its id; throws on an error response. */
  const started = async (body: object): Promise<string> => {
    const answer = await create(body);
    if (answer.status !== 202) throw new Error(`the extraction returned ${answer.status}: ${answer.text}`);
    return String(answer.json['id']);
  };
  const job = async (id: string, query = ''): Promise<Job> =>
    (await ask('GET', `/v1/extractions/${id}${query}`)).json as unknown as Job;
  const ended = (id: string): Promise<Job> =>
    eventually(`the end of ${id}`, async () => {
      const found = await job(id, '?wait=5');
      return found.status === 'succeeded' || found.status === 'failed' ? found : null;
    });
  const inStatus = (id: string, status: string): Promise<Job> =>
    eventually(`${id} being ${status}`, async () => {
      const found = await job(id);
      return found.status === status ? found : null;
    });
  /** Creates a job and returns it when it has ended. */
  const run = async (body: object): Promise<Job> => ended(await started(body));
  const records = (id: string, query = ''): Promise<Answer> => ask('GET', `/v1/extractions/${id}/records${query}`);
  /** Reads the records of all pages. */
  const allRecords = async (id: string, limit = 1_000): Promise<readonly ExtractedRecord[]> => {
    const all: ExtractedRecord[] = [];
    for (let cursor = ''; ;) {
      const { json } = await records(id, `?limit=${limit}${cursor}`);
      all.push(...(json['records'] as ExtractedRecord[]));
      if (json['has_more'] !== true) return all;
      cursor = `&cursor=${String(json['next_cursor'])}`;
    }
  };
  return { ask, create, started, job, ended, inStatus, run, records, allRecords };
}

export interface ExtractedRecord {
  readonly id: string;
  readonly _meta: {
    readonly id: string;
    readonly seq: number;
    readonly source_url: string;
    readonly fetched_at: string;
  };
}
