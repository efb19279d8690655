import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '../../src/client/client.ts';
import type { DemoServer } from './server.ts';

export interface DemoShop {
  /** `http://localhost:<port>`. */
  readonly url: string;
  close(): Promise<void>;
}

const SITE = new URL('../../../examples/shop/site/', import.meta.url);
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
const FILES = ['login.html', 'signup.html', 'checkout.html', 'shop.css', 'shop.js', 'icon.svg'] as const;
const EVENTS: ReadonlySet<string> = new Set(['login', 'signup', 'checkout']);
/** Choice: a form with a token has under 4 KB. */
const BODY_BYTES_MAX = 16_384;
const FIELD_CHARACTERS_MAX = 256;
const TOKEN_CHARACTERS_MAX = 8_192;

/** Response of the shop's backend to its page. */
interface Shown {
  readonly answer?: unknown;
  /** The JSON inside the token; null without a readable one. */
  readonly token?: unknown;
  readonly sent?: unknown;
  readonly failure?: string;
}

/** Serves the shop of `examples/shop` on this machine, with keys of its own for its origin. Port 0 takes a free one. */
export async function openShop(gatehouse: DemoServer, port: number): Promise<DemoShop> {
  let answer: ((request: IncomingMessage, response: ServerResponse) => void) | null = null;
  const server = createServer((request, response) => (answer === null ? response.end() : answer(request, response)));
  const url = `http://localhost:${await listen(server, port)}`;
  const { customer_id: customer } = await gatehouse.run('customers', 'create', 'shop');
  const keys = await gatehouse.run('keys', 'create', '--customer', String(customer), '--origin', url);
  const secretKey = String(keys['secret_key']);
  const client = createClient({ url: gatehouse.url, key: secretKey });
  const files = readFiles(gatehouse.url, String(keys['public_key']));
  const policy =
    `default-src 'none'; script-src 'self' ${gatehouse.url}; connect-src 'self' ${gatehouse.url}; style-src 'self'; img-src 'self'; ` +
    `form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'`;

  answer = (request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const file = files.get(path === '/' ? '/login.html' : path);
    const [, folder, event = ''] = path.split('/');
    if (request.method === 'GET' && file !== undefined) {
      response.setHeader('Content-Type', file.type);
      response.end(file.bytes);
    } else if (request.method === 'POST' && folder === 'act' && EVENTS.has(event)) {
      void act(request, event, client, { url: gatehouse.url, secretKey })
        .catch((error: unknown): Shown => ({ failure: `The backend failed: ${String(error)}` }))
        .then((shown) => {
          response.setHeader('Content-Type', 'application/json');
          response.end(JSON.stringify(shown));
        });
    } else {
      response.statusCode = 404;
      response.end('Not found');
    }
  };
  return {
    url,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await client.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(`port ${port} is in use: choose another one with --port`) : error),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the shop has no port');
  return address.port;
}

interface SiteFile {
  readonly type: string;
  readonly bytes: string;
}

/** Reads the pages and fills in where the collector is and which key it uses. */
function readFiles(gatehouseUrl: string, publicKey: string): ReadonlyMap<string, SiteFile> {
  return new Map(
    FILES.map((name) => {
      const text = readFileSync(fileURLToPath(new URL(name, SITE)), 'utf8');
      const bytes = text.replaceAll('%GATEHOUSE%', gatehouseUrl).replaceAll('%PUBLIC_KEY%', publicKey);
      return [`/${name}`, { type: TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain', bytes }];
    }),
  );
}

/** The shop's backend: one decision for each form that is sent. */
async function act(
  request: IncomingMessage,
  event: string,
  client: Client,
  gatehouse: { readonly url: string; readonly secretKey: string },
): Promise<Shown> {
  const form = await readForm(request);
  if (form === null) return { failure: 'The form could not be read.' };
  const { email = '', card = '', referrer = '', session_token: sessionToken = '' } = form;
  const header = (name: string): string => String(request.headers[name] ?? '').slice(0, 1_024);
  // A visitor on this machine has no public address. A real shop sends `ip`, the visitor's address as its proxy reports it.
  const sent = {
    event_type: event,
    user_agent: header('user-agent'),
    url: header('referer'),
    ...(referrer === '' ? {} : { referrer }),
    session_token: sessionToken,
    entity_keys: { email, ...(card === '' ? {} : { card_hash: card }) },
    headers: { accept: header('accept'), 'accept-language': header('accept-language') },
  };
  const decided = await client.decide(sent);
  if (decided.kind === 'unreachable') return { failure: `Gatehouse does not answer: ${decided.detail}`, sent };
  if (decided.status !== 200) return { failure: `Gatehouse refused: ${JSON.stringify(decided.body)}`, sent };
  const answer = decided.body as { readonly request_id: string };
  return { answer: { ...answer, ...(await explain(answer.request_id, gatehouse)) }, token: inside(sessionToken), sent };
}

/** The weight and the evidence of each reason. They are for the shop's staff: a real page never shows them to the visitor. */
async function explain(
  requestId: string,
  { url, secretKey }: { readonly url: string; readonly secretKey: string },
): Promise<{ readonly contributions: unknown }> {
  const response = await fetch(`${url}/v1/decisions/${encodeURIComponent(requestId)}`, {
    headers: { Authorization: `Bearer ${secretKey}`, 'X-SVC-Rid': randomUUID() },
    signal: AbortSignal.timeout(5_000),
  });
  const record = (await response.json()) as { readonly contributions?: unknown };
  return { contributions: record.contributions ?? [] };
}

/** Returns the form's fields as texts, truncated; null if the body is not a JSON object or too long. */
async function readForm(request: IncomingMessage): Promise<Readonly<Record<string, string>> | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (typeof body !== 'object' || body === null) return null;
    return Object.fromEntries(
      Object.entries(body)
        .filter((field): field is [string, string] => typeof field[1] === 'string')
        .map(([name, text]) => [
          name,
          text.slice(0, name === 'session_token' ? TOKEN_CHARACTERS_MAX : FIELD_CHARACTERS_MAX),
        ]),
    );
  } catch {
    return null;
  }
}

/** Returns the JSON inside a token, for display only; null if it is not a collector token. */
function inside(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}
