import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * To be removed when the service serves the dashboard itself: the built pages with the headers that the service will send, and
 * `/dashboard/api/*` passed on to a running Gatehouse with a key instead of the cookie. Sign-in is a cookie that holds nothing.
 */

const DIST = fileURLToPath(new URL('../../../dist/web/dashboard', import.meta.url));

export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

async function typeOf(name: string): Promise<string | undefined> {
  const { assets } = JSON.parse(await readFile(join(DIST, 'manifest.json'), 'utf8')) as {
    readonly assets: readonly { readonly file: string; readonly type: string }[];
  };
  return assets.find(({ file }) => file === name)?.type;
}

export interface FakeResponse {
  readonly status?: number;
  readonly body: unknown;
  readonly delayMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers instead of the service; null passes the request on. `path` is that of the API, without `/dashboard/api`. */
export type Override = (path: string, query: URLSearchParams, method: string, body: string) => FakeResponse | null;

export interface DashboardServer {
  readonly url: string;
  /** Replaces all overrides. */
  override(next: Override | null): void;
  stop(): Promise<void>;
}

/** Serves the built pages in front of the service at `target`, whose secret key is also the one that signs in. */
export async function startDashboard(target: string, secretKey: string): Promise<DashboardServer> {
  let override: Override | null = null;
  const respond = (
    response: ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers });
    response.end(status === 204 ? undefined : JSON.stringify(body));
  };
  const refuse = (response: ServerResponse, status: number, code: string, title: string): void =>
    respond(response, status, {
      type: `urn:gatehouse:error:${code}`,
      title,
      status,
      code,
      detail: '',
      request_id: 'req_TEST',
    });

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = url.pathname;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const isSignedIn = (request.headers.cookie ?? '').includes('gh_test=1');
    if (path.startsWith('/dashboard/assets/')) {
      const file = path.slice('/dashboard/assets/'.length);
      const type = await typeOf(file);
      if (type === undefined) return refuse(response, 404, 'not_found', 'Not found');
      response.writeHead(200, {
        'Content-Type': type,
        'X-Content-Type-Options': 'nosniff',
        'Content-Security-Policy': CSP,
      });
      response.end(await readFile(join(DIST, file)));
      return undefined;
    }
    if (path === '/dashboard/session') {
      const { key, code } = JSON.parse(text) as { readonly key?: string; readonly code?: string };
      if (request.headers['x-gatehouse'] !== '1') return refuse(response, 403, 'forbidden', 'Missing header');
      if (key !== secretKey && code !== 'good-code') return refuse(response, 401, 'unknown_key', 'Unknown key');
      return respond(response, 204, null, { 'Set-Cookie': 'gh_test=1; Path=/; HttpOnly; SameSite=Strict' });
    }
    if (path === '/dashboard/logout')
      return respond(response, 204, null, { 'Set-Cookie': 'gh_test=; Path=/; Max-Age=0' });
    if (path.startsWith('/dashboard/api/')) {
      if (!isSignedIn) return refuse(response, 401, 'session_required', 'Sign in');
      const method = request.method ?? 'GET';
      if (method !== 'GET' && request.headers['x-gatehouse'] !== '1')
        return refuse(response, 403, 'forbidden', 'Missing header');
      const apiPath = path.slice('/dashboard/api'.length);
      const faked = override?.(apiPath, url.searchParams, method, text) ?? null;
      if (faked !== null) {
        if (faked.delayMs !== undefined) await new Promise((done) => setTimeout(done, faked.delayMs));
        return respond(response, faked.status ?? 200, faked.body, { ...faked.headers });
      }
      if (apiPath === '/session')
        return respond(response, 200, {
          customer_id: 'cus_01KAS3T3KCSGQ9C3ZK8A4M1Q2V',
          name: 'demo',
          key_prefix: secretKey.slice(0, 12),
          created_at: Math.floor(Date.now() / 1_000),
          expires_at: Math.floor(Date.now() / 1_000) + 43_200,
          read_only: false,
          secure: false,
        });
      const answer = await fetch(`${target}${apiPath}${url.search}`, {
        method,
        headers: {
          Authorization: `Bearer ${secretKey}`,
          ...(text === '' ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(text === '' ? {} : { body: text }),
      });
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? 'application/json' });
      response.end(Buffer.from(await answer.arrayBuffer()));
      return undefined;
    }
    const page = await readFile(join(DIST, 'index.html'), 'utf8');
    const theme = /gh_theme=(light|dark)/.exec(request.headers.cookie ?? '')?.[1];
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': CSP });
    response.end(theme === undefined ? page : page.replace('data-theme="system"', `data-theme="${theme}"`));
    return undefined;
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => refuse(response, 500, 'internal_error', String(error)));
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    override: (next) => void (override = next),
    stop: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
