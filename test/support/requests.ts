import { randomUUID } from 'node:crypto';
import { request, type Agent } from 'node:http';
import { connect } from 'node:net';
import { signRequest } from '../../src/client/sign.ts';
import { ChangeDoor } from '../../src/cli/change-door.ts';
import { openStore } from '../../src/state/feed/open-store.ts';
import { command } from './command-line.ts';
import { expectDocumented } from './contract.ts';
import type { Answer } from './answer.ts';
import { expectRawDocumented } from './raw-answers.ts';
import { NODES_OF_TESTS, SERVERS_IN_TURN } from './server.ts';
import { writesOf } from './writes.ts';

/** Requests as a customer's backend sends them; tests can change every part. */

export type { Answer };

export const TRANSPORTS = ['uws', 'node'] as const;

export interface SendOptions {
  readonly method?: string;
  /** Target in the request line. */
  readonly path?: string;
  /** Signed target; default `path`. */
  readonly signedPath?: string;
  readonly body?: string | Uint8Array;
  /** Signed body; default `body`. */
  readonly signedBody?: string | Uint8Array;
  readonly timestampSeconds?: number;
  readonly requestId?: string;
  /** Reuses connections; without an agent each request has its own connection. */
  readonly agent?: Agent;
  /** Overrides signed headers; `null` removes one. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

export const CALM = {
  ip: '81.2.69.160',
  user_agent:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36',
  url: 'https://shop.example/search',
  session_token: 'a-session-of-the-tests',
  event_type: 'search',
};

let visitors = 0;

/** Returns `CALM` with a new session and address, so that other requests of the test do not contribute to its history. */
export function newcomer(): typeof CALM {
  visitors++;
  const ip = `81.2.${64 + (Math.floor(visitors / 250) % 60)}.${1 + (visitors % 250)}`;
  return { ...CALM, ip, session_token: `visitor-${process.pid}-${visitors}` };
}

/** Sends a signed decide request. */
export function decide(
  url: string,
  key: string,
  body: unknown = newcomer(),
  options: SendOptions = {},
): Promise<Answer> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return send(url, key, { body: text, ...options });
}

export function send(url: string, key: string, options: SendOptions = {}): Promise<Answer> {
  const method = options.method ?? 'POST';
  const path = options.path ?? '/v1/decide';
  const body = options.body ?? '';
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...signRequest({
      key,
      method,
      path: options.signedPath ?? path,
      body: options.signedBody ?? body,
      timestampSeconds: options.timestampSeconds ?? Math.floor(Date.now() / 1000),
      requestId: options.requestId ?? randomUUID(),
    }),
  };
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    const known = Object.keys(headers).find((header) => header.toLowerCase() === name.toLowerCase());
    if (known !== undefined) delete headers[known];
    if (value !== null) headers[name] = value;
  }
  return plain(url, method, path, headers, body, options.agent);
}

export function get(url: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return plain(url, 'GET', path, headers, '');
}

function plain(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | Uint8Array,
  agent: Agent | false = false,
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const req = request({ hostname, port, method, path, headers, agent }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const answer: Answer = {
          status: res.statusCode ?? 0,
          headers: res.headers as Record<string, string>,
          text,
          json: parse(text),
        };
        try {
          expectDocumented(method, path, answer);
          resolve(answer);
        } catch (error) {
          reject(error);
        }
      });
    });
    req.on('error', (error) => reject(Object.assign(error, { reusedSocket: req.reusedSocket })));
    req.end(body);
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/**
 * Sends raw bytes over a separate connection. Resolves with the received text when the connection closes or is silent for `quietMs`.
 * Rejects if the table of endpoints does not describe one of the complete responses.
 */
export function raw(url: string, bytes: string | Buffer | readonly Buffer[], quietMs = 400): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const pieces = (Array.isArray(bytes) ? bytes : [bytes]).map((piece: string | Buffer) => Buffer.from(piece));
  return new Promise((resolve, reject) => {
    let text = '';
    let quiet: NodeJS.Timeout;
    const socket = connect(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.setNoDelay(true);
    const rest = (): void => {
      clearTimeout(quiet);
      quiet = setTimeout(askOther, quietMs);
    };
    // Sends another request to detect a slow server: while that one has no response, this one may still get its own.
    const askOther = (): void => {
      const sinceText = text;
      void get(url, '/healthz')
        .catch(() => null)
        .then(() => {
          if (text === sinceText) quiet = setTimeout(() => finish(false), AFTER_OTHER_MS);
        });
    };
    const finish = (closed: boolean): void => {
      clearTimeout(quiet);
      socket.destroy();
      try {
        expectRawDocumented(Buffer.concat(pieces).toString('latin1'), text);
        resolve({ text, closed, statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1])) });
      } catch (error) {
        reject(error);
      }
    };
    rest();
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      rest();
    });
    socket.on('end', () => finish(true));
    socket.on('error', () => finish(true));
  });
}

/** A response written before the other one may still be in transit. */
const AFTER_OTHER_MS = 50;

export interface RawAnswer {
  readonly text: string;
  readonly closed: boolean;
  readonly statuses: readonly number[];
}

/** Runs the command line on a data directory, also while its server runs. Resolves to the parsed output of `--json`. */
export async function gatehouse(dataDir: string, ...words: string[]): Promise<Record<string, unknown>> {
  const { code, out } = await command(['--json', '--data-dir', dataDir, ...words]);
  if (code !== 0) throw new Error(`${words.join(' ')} exited with code ${String(code)}: ${out}`);
  return JSON.parse(out) as Record<string, unknown>;
}

/**
 * Creates a customer with one key pair in the store of a running server, as the command line does. Resolves when the server accepts the
 * keys.
 */
export async function newCustomer(
  url: string,
  dataDir: string,
  rateLimit: number | null = null,
  origins: readonly string[] = [],
): Promise<{ customerId: string; secretKey: string; publicKey: string }> {
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  // Beside a node of a cluster nobody may write: the other nodes would not have it.
  const changes = NODES_OF_TESTS > 0 ? new ChangeDoor(opened.store) : opened.store.changes;
  const { customers, apiKeys } = writesOf(opened.store, changes);
  const customer = await customers.create('test', Date.now());
  if (customer.kind === 'fault') throw new Error(customer.detail);
  const pair = await apiKeys.createPair(customer.value.number, rateLimit, Math.floor(Date.now() / 1_000), origins);
  if (pair.kind === 'fault') throw new Error(pair.detail);
  await opened.store.close();
  const keys = { secretKey: pair.value.secret.text, publicKey: pair.value.public.text };
  const until = Date.now() + 20_000;
  let answer: unknown;
  // On several nodes each of them has to know the keys, and answers in turn.
  for (let known = 0; known < SERVERS_IN_TURN && Date.now() < until;) {
    // A wrong signature distinguishes a known key from an unknown one and does not count against the rate limit.
    const { json } = await decide(url, keys.secretKey, CALM, { headers: { 'X-SVC-Sig': '0'.repeat(64) } });
    answer = json['code'];
    known = answer === 'invalid_signature' ? known + 1 : 0;
    if (known === 0) await new Promise((done) => setTimeout(done, 20));
  }
  // After a jump of the virtual clock no request of this machine's time is in the window: such tests create their customers before it.
  if (answer !== 'invalid_signature') throw new Error(`the keys of a new customer are not accepted: ${String(answer)}`);
  return { customerId: customer.value.id, ...keys };
}
