import { hash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createClient, type Client, type DecisionBody } from '../../src/client/client.ts';
import type { DemoServer } from './server.ts';
import { showResult, type Shown } from './shop-result.ts';

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
/** Choice: nobody waits longer for a page; then the shop goes on without a decision. */
const DECISION_MS_MAX = 1_000;
/** Choice: a demo has few visitors at a time; the oldest challenge ends first. */
const CHALLENGES_MAX = 1_000;
const CODE = '246810';

type Form = Readonly<Record<string, string>>;

/** Serves the shop of `examples/shop` on this machine, with keys of its own for its origin. Port 0 takes a free one. */
export async function openShop(gatehouse: DemoServer, port: number): Promise<DemoShop> {
  let answer: ((request: IncomingMessage) => Promise<Answer>) | null = null;
  const server = createServer((request, response) => {
    void (answer?.(request) ?? Promise.resolve(NOT_FOUND)).catch(failedWith).then(({ status, type, body, visit }) => {
      response.writeHead(status, {
        'Content-Type': TYPES[type] ?? (type === 'json' ? 'application/json' : 'text/plain'),
        'Content-Security-Policy': policy,
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-store',
        ...(visit !== undefined && { 'Set-Cookie': `visit=${visit}; HttpOnly; SameSite=Lax; Path=/` }),
      });
      response.end(body);
    });
  });
  const url = `http://localhost:${await listen(server, port)}`;
  const { customer_id: customer } = await gatehouse.run('customers', 'create', 'shop');
  const keys = await gatehouse.run('keys', 'create', '--customer', String(customer), '--origin', url);
  const secretKey = String(keys['secret_key']);
  const client = createClient({ url: gatehouse.url, key: secretKey, timeoutMs: DECISION_MS_MAX });
  const backend = createBackend(client, { url: gatehouse.url, secretKey });
  const files = readFiles(gatehouse.url, String(keys['public_key']));
  const policy =
    `default-src 'none'; script-src 'self' ${gatehouse.url}; connect-src 'self' ${gatehouse.url}; style-src 'self'; img-src 'self'; ` +
    `form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'`;

  answer = async (request) => {
    const known = /(?:^|; )visit=([0-9a-f]{32})/.exec(request.headers.cookie ?? '')?.[1];
    const visit = known ?? randomBytes(16).toString('hex');
    const answered = await route(request, visit);
    return known === undefined ? { ...answered, visit } : answered;
  };
  const route = async (request: IncomingMessage, visit: string): Promise<Answer> => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const file = files.get(path === '/' ? '/login.html' : path);
    const [, folder, event = ''] = path.split('/');
    if (request.method === 'GET' && file !== undefined) return { status: 200, ...file };
    if (request.method !== 'POST' || folder !== 'act' || !(EVENTS.has(event) || event === 'code')) return NOT_FOUND;
    const form = await readForm(request);
    if (form === null) return { status: 400, type: 'txt', body: 'The form could not be read.' };
    const shown = event === 'code' ? backend.enterCode(form, visit) : await backend.act(request, event, form, visit);
    // The shop's script shows the result beside the form; without it the result is a page.
    const isScript = request.headers['content-type']?.startsWith('application/json') === true;
    if (isScript) return { status: 200, type: 'json', body: JSON.stringify(shown) };
    return { status: 200, type: 'html', body: showResult(shown) };
  };
  return {
    url,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** A new visit, which the browser keeps. */
  readonly visit?: string;
}

function failedWith(error: unknown): Answer {
  return { status: 500, type: 'txt', body: `The shop failed: ${String(error)}` };
}

const NOT_FOUND: Answer = { status: 404, type: 'txt', body: 'Not found' };

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
  readonly body: string;
}

/** Reads the pages and fills in where the collector is and which key it uses. */
function readFiles(gatehouseUrl: string, publicKey: string): ReadonlyMap<string, SiteFile> {
  return new Map(
    FILES.map((name) => {
      const text = readFileSync(fileURLToPath(new URL(name, SITE)), 'utf8');
      const body = text.replaceAll('%GATEHOUSE%', gatehouseUrl).replaceAll('%PUBLIC_KEY%', publicKey);
      return [`/${name}`, { type: name.slice(name.lastIndexOf('.') + 1), body }];
    }),
  );
}

interface Backend {
  act(request: IncomingMessage, event: string, form: Form, visit: string): Promise<Shown>;
  enterCode(form: Form, visit: string): Shown;
}

/**
 * The shop's backend: one decision for each form, one outcome for each decision, and no visitor who is turned away because Gatehouse does
 * not answer. docs/challenge.md describes the flow; this shop has no accounts, so every password is right.
 */
function createBackend(client: Client, gatehouse: { readonly url: string; readonly secretKey: string }): Backend {
  /** Visit → the decision that a challenge is about. It stays here: a page could pair it with another one. */
  const challenges = new Map<string, string>();

  const report = (requestId: string, outcome: 'succeeded' | 'challenge_passed' | 'challenge_failed'): string => {
    void client.report([{ request_id: requestId, outcome }]);
    return outcome;
  };

  return {
    async act(request, event, form, visit) {
      const sent = describe(request, event, form, visit);
      const decided = await client.decide(sent);
      if (decided.kind === 'unreachable')
        return { isIn: true, failure: `Gatehouse does not answer: ${decided.detail}`, sent };
      if (decided.status !== 200)
        return { isIn: true, failure: `Gatehouse refused: ${JSON.stringify(decided.body)}`, sent };
      const decision = decided.body as DecisionBody;
      const shown = {
        answer: { ...decision, ...(await explain(decision.request_id, gatehouse)) },
        token: inside(form['session_token'] ?? ''),
        sent,
      };
      challenges.delete(visit);
      if (decision.decision === 'BLOCK') return { ...shown, isIn: false };
      if (decision.decision !== 'SOFT_CHALLENGE')
        return { ...shown, isIn: true, outcome: report(decision.request_id, 'succeeded') };
      for (const oldest of challenges.keys()) {
        if (challenges.size < CHALLENGES_MAX) break;
        challenges.delete(oldest);
      }
      challenges.set(visit, decision.request_id);
      return { ...shown, isIn: false, code: CODE };
    },
    enterCode({ code = '' }, visit) {
      const requestId = challenges.get(visit);
      if (requestId === undefined) return { isIn: false, failure: 'There is no challenge: send the form again.' };
      challenges.delete(visit);
      const isIn = code === CODE;
      return { isIn, outcome: report(requestId, isIn ? 'challenge_passed' : 'challenge_failed') };
    },
  };
}

/** The decide request. Without a token of the collector, the shop's own session id takes its place. */
function describe(request: IncomingMessage, event: string, form: Form, visit: string): Record<string, unknown> {
  const header = (name: string): string => String(request.headers[name] ?? '').slice(0, 1_024);
  const { email = '', card = '', referrer = '', session_token: sessionToken = '' } = form;
  // A visitor on this machine has no public address. A real shop sends `ip`, the visitor's address as its proxy reports it.
  return {
    event_type: event,
    user_agent: header('user-agent'),
    url: header('referer'),
    ...(referrer === '' ? {} : { referrer }),
    session_token: sessionToken === '' ? visit : sessionToken,
    entity_keys: { email, ...(card === '' ? {} : { card_hash: card }) },
    headers: { accept: header('accept'), 'accept-language': header('accept-language') },
  };
}

/** The weight and the evidence of each reason. They are for the shop's staff: a real page never shows them to the visitor. */
async function explain(
  requestId: string,
  { url, secretKey }: { readonly url: string; readonly secretKey: string },
): Promise<{ readonly contributions: unknown }> {
  try {
    const response = await fetch(`${url}/v1/decisions/${encodeURIComponent(requestId)}`, {
      headers: { Authorization: `Bearer ${secretKey}`, 'X-SVC-Rid': randomUUID() },
      signal: AbortSignal.timeout(DECISION_MS_MAX),
    });
    const record = (await response.json()) as { readonly contributions?: unknown };
    return { contributions: record.contributions ?? [] };
  } catch {
    return { contributions: [] };
  }
}

/** Returns the form's fields as texts, truncated; null if the body is too long, or neither a form nor a JSON object. */
async function readForm(request: IncomingMessage): Promise<Form | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  const fields = isForm ? Object.fromEntries(new URLSearchParams(text)) : parseFields(text);
  if (fields === null) return null;
  const form = Object.fromEntries(
    Object.entries(fields)
      // The password is not needed for a decision.
      .filter((field): field is [string, string] => typeof field[1] === 'string' && field[0] !== 'password')
      .map(([name, value]) => [
        name,
        value.slice(0, name === 'session_token' ? TOKEN_CHARACTERS_MAX : FIELD_CHARACTERS_MAX),
      ]),
  );
  // The shop's script sends a hash. A real shop sends the card's id at its payment provider instead.
  return isForm && form['card'] !== undefined
    ? { ...form, card: hash('sha256', form['card'].replaceAll(' ', ''), 'hex') }
    : form;
}

function parseFields(text: string): object | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : null;
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
