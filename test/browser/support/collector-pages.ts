import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';

const BUILT = fileURLToPath(new URL('../../../dist/web/collector/', import.meta.url));

/** The strictest policy that a site can have, and under which the collector works: no inline code, no frames, no Trusted Types policy. */
export const STRICT_CSP =
  "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export interface PageRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface CollectorPages {
  /** `http://localhost:<port>`, a secure context. */
  readonly origin: string;
  readonly requests: PageRequest[];
  /** Grants issued, by their text. */
  readonly grants: Map<string, { readonly nonce: string }>;
  /** How the grant call answers from now on. */
  grantBehaviour: 'issue' | 'refuse' | 'silent';
  grantSeconds: number;
  close(): Promise<void>;
}

const PUBLIC_KEY = 'pk_live_test00000000000000000000000000';

/**
 * A site with the built collector. `/page?…` is a page whose script tag has the query's `data-*` attributes, with `csp=1` under
 * `STRICT_CSP`, with `form=1` with a form
 * (and fields with the names of `fields`), with `images` with images of these names,
 * with `script=…` with the script of another server. `/bare` has no script. It also answers the collector's own call for a grant.
 */
export async function openPages(): Promise<CollectorPages> {
  const script = readFileSync(`${BUILT}collector.js`);
  const module = readFileSync(`${BUILT}collector.mjs`);
  const requests: PageRequest[] = [];
  const grants = new Map<string, { readonly nonce: string }>();
  const pages = { requests, grants, grantBehaviour: 'issue' as CollectorPages['grantBehaviour'], grantSeconds: 1_800 };

  const answer = (request: PageRequest, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    if (pathname === '/collector.js') send(response, 'text/javascript', script);
    else if (pathname === '/collector.mjs') send(response, 'text/javascript', module);
    else if (pathname === '/v1/collector/grant') answerGrant(request, response);
    else if (pathname === '/page' || pathname === '/bare') {
      if (searchParams.has('csp')) response.setHeader('Content-Security-Policy', STRICT_CSP);
      send(response, 'text/html; charset=utf-8', pageText(pathname === '/bare' ? null : searchParams));
    } else if (pathname === '/send') send(response, 'text/html; charset=utf-8', '<!doctype html><title>Sent</title>');
    else {
      response.statusCode = 404;
      send(response, 'text/plain', '');
    }
  };

  const answerGrant = (request: PageRequest, response: ServerResponse): void => {
    if (pages.grantBehaviour === 'silent') return;
    response.setHeader('Content-Type', 'application/json');
    if (pages.grantBehaviour === 'refuse' || request.headers['x-svc-key'] !== PUBLIC_KEY) {
      response.statusCode = 401;
      response.end('{"code":"unknown_key"}');
      return;
    }
    const grant = randomBytes(60).toString('base64url');
    const nonce = randomBytes(32).toString('base64url');
    grants.set(grant, { nonce });
    response.end(JSON.stringify({ grant, nonce, expires_at: Math.floor(Date.now() / 1_000) + pages.grantSeconds }));
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
      requests.push(received);
      answer(received, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the page server has no port');
  return Object.assign(pages, {
    origin: `http://localhost:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Cache-Control', 'max-age=60');
  response.end(body);
}

function pageText(query: URLSearchParams | null): string {
  const attributes = [...(query ?? [])]
    .filter(([name]) => name.startsWith('data-'))
    .map(([name, value]) => `${name}="${value}"`);
  const names = (list: string): readonly string[] => (query?.get(list) ?? '').split(',').filter((name) => name !== '');
  const fields = names('fields').map((name) => `<label>${name} <input name="${name}"></label>`);
  const images = names('images').map((name) => `<img name="${name}" alt="">`);
  const form =
    '<form data-gatehouse action="/send" method="post"><label>Name <input name="name" autocomplete="off"></label>' +
    '<label>Password <input name="password" type="password" autocomplete="off"></label>' +
    `${fields.join('')}<button name="go" value="now">Send</button></form>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Page</title>${query?.has('csp') === true ? '' : '<link rel="icon" href="data:,">'}${
    query === null
      ? ''
      : `<script src="${query.get('script') ?? '/collector.js'}" ${attributes.join(' ')} async></script>`
  }${images.join('')}<h1>Page</h1>${query?.has('form') === true ? form : ''}<a href="/bare">Leave</a></html>`;
}

export interface DecodedToken {
  readonly kind: 'st1' | 'st2';
  readonly body: Record<string, unknown> & { readonly sig: Record<string, unknown> };
  readonly json: string;
  /** HMAC of an `st2.` token. */
  readonly mac: string | null;
}

export function decodeToken(token: string): DecodedToken {
  const [kind, encoded = '', mac = null] = token.split('.');
  if (kind !== 'st1' && kind !== 'st2') throw new Error(`not a collector token: ${token.slice(0, 20)}`);
  const json = Buffer.from(encoded, 'base64url').toString('utf8');
  return { kind, body: JSON.parse(json) as DecodedToken['body'], json, mac };
}

/** Verifies the HMAC of an `st2.` token with the nonce of its grant. */
export function isSealed({ json, mac, body }: DecodedToken, pages: CollectorPages): boolean {
  const nonce = pages.grants.get(String(body['g']))?.nonce;
  if (nonce === undefined || mac === null) return false;
  return createHmac('sha256', Buffer.from(nonce, 'base64url')).update(json).digest('base64url') === mac;
}

/** Asks the page's collector for a token. */
export function tokenOf(page: Page): Promise<string> {
  return page.evaluate(() => window.gatehouse.token());
}

/** Asks for tokens until one has the hash of all components. */
export function fullTokenOf(page: Page): Promise<string> {
  return page.evaluate(async () => {
    for (;;) {
      const token = await window.gatehouse.token();
      if (atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')).includes('"fpx"')) return token;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
}

/** Opens `/page` with attributes of the script tag and returns the page once the collector is there. */
export async function openPage(
  context: BrowserContext,
  pages: CollectorPages,
  query: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${pages.origin}/page?${new URLSearchParams(query).toString()}`);
  await page.waitForFunction(() => 'gatehouse' in window);
  return page;
}

export const WITH_KEY = { 'data-key': PUBLIC_KEY } as const;

declare global {
  interface Window {
    readonly gatehouse: {
      start(options?: object): boolean;
      token(): Promise<string>;
      decide(body: object): Promise<Record<string, unknown>>;
      stop(options?: object): void;
    };
  }
}
