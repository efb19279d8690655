import type { Command } from 'commander';
import type { FieldError } from '../contract/problem.ts';
import { checkKeyText } from '../kernel/key-text.ts';
import { parseUrl } from '../kernel/parse-url.ts';
import type { Cli } from './context.ts';
import { failure, ok, type CommandError } from './command-outcome.ts';
import { makeSignInLink, type MadeLink } from './sign-in-link.ts';
import { withStore } from './with-store.ts';

/** Options of the commands that read a running server over its API. */
export interface ApiOptions {
  readonly key?: string;
  readonly url: string;
  readonly customer?: string;
}

export const SERVICE_URL_DEFAULT = 'http://127.0.0.1:8080';
const NO_CONTENT = 204;
/** Choice: a search of the log may wait for its turn; a server that takes longer does not answer. */
const CALL_MS_MAX = 30_000;

/** Adds `--key`, `--url` and `--customer`, with which `openApi` finds the server. */
export function addApiOptions(command: Command): Command {
  return command
    .option('--key <key>', 'a secret key (default: the access of the operator, by the data directory)')
    .option('--url <url>', 'with --key: address of the service', SERVICE_URL_DEFAULT)
    .option('--customer <id>', 'without --key: id of the customer, cus_…; not needed if there is only one');
}

export type ApiBody = Readonly<Record<string, unknown>>;

export type ApiReply = { readonly kind: 'ok'; readonly body: ApiBody } | CommandError;

/** Calls the API as one customer. */
export interface ApiCaller {
  get(path: string): Promise<ApiReply>;
  post(path: string, body: ApiBody): Promise<ApiReply>;
  patch(path: string, body: ApiBody): Promise<ApiReply>;
  /** The reply has no fields. */
  remove(path: string): Promise<ApiReply>;
}

/** How calls authenticate: where their paths begin, and the header fields. */
interface Credentials {
  readonly base: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * With `--key` the API at `--url`; otherwise the server that runs on the data directory, through a session of its dashboard, which the
 * owner of that directory may open without a key. A session that ended, after 12 h or with a restart, is opened again.
 */
export async function openApi(cli: Cli, options: ApiOptions): Promise<{ kind: 'api'; api: ApiCaller } | CommandError> {
  const open = (): Promise<Credentials | CommandError> =>
    options.key === undefined ? bySession(cli, options.customer ?? null) : Promise.resolve(byKey(options.key, options));
  let credentials = await open();
  if (isError(credentials)) return credentials;

  async function call(method: string, path: string, body: ApiBody | null): Promise<ApiReply> {
    if (isError(credentials)) return credentials;
    const reply = await send(method, path, body, credentials);
    if (reply.kind !== 'error' || reply.code !== 'session_required') return reply;
    credentials = await open();
    return isError(credentials) ? credentials : send(method, path, body, credentials);
  }
  return {
    kind: 'api',
    api: {
      get: (path) => call('GET', path, null),
      post: (path, body) => call('POST', path, body),
      patch: (path, body) => call('PATCH', path, body),
      remove: (path) => call('DELETE', path, null),
    },
  };
}

function isError(value: object): value is CommandError {
  return 'kind' in value && value.kind === 'error';
}

/** Returns the origin of an http or https URL; null for any other text. */
export function serviceOrigin(url: string): string | null {
  const parsed = parseUrl(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.origin : null;
}

function byKey(key: string, { url }: ApiOptions): Credentials | CommandError {
  if (checkKeyText(key) !== 'secret') {
    return failure('malformed_key', 'that is not a complete secret key: its format or its checksum is wrong');
  }
  const origin = serviceOrigin(url);
  if (origin === null) return failure('malformed_url', `${url} is not an http or https URL`);
  return { base: origin, fields: { authorization: `Bearer ${key}` } };
}

async function bySession(cli: Cli, customerId: string | null): Promise<Credentials | CommandError> {
  const made: { link: MadeLink | null } = { link: null };
  const outcome = await withStore(cli.globals().dataDir, async (store) => {
    const reply = await makeSignInLink(store, customerId);
    if (reply.kind === 'error') return reply;
    made.link = reply;
    return ok({}, '');
  });
  if (outcome.kind === 'error') return outcome;
  const { origin, hash } = new URL(made.link?.url ?? '');
  // What marks a request as one of the dashboard's own pages.
  const own = { origin, 'x-gatehouse': '1' };
  const body = JSON.stringify({ code: hash.replace('#code=', '') });
  const fields = { ...own, 'content-type': 'application/json' };
  const signedIn = await request(`${origin}/dashboard/session`, { method: 'POST', headers: fields, body });
  if (signedIn instanceof Error) return failure('unreachable', `no answer from ${origin}: ${signedIn.message}`);
  const [cookie = ''] = (signedIn.headers.getSetCookie()[0] ?? '').split(';');
  if (!signedIn.ok || cookie === '') {
    return failure('not_signed_in', `${origin} did not sign in (status ${signedIn.status}); use --key`);
  }
  return { base: `${origin}/dashboard/api`, fields: { ...own, cookie } };
}

async function send(
  method: string,
  path: string,
  body: ApiBody | null,
  { base, fields }: Credentials,
): Promise<ApiReply> {
  const sent = body === null ? {} : { body: JSON.stringify(body) };
  const headers = { ...fields, ...(body !== null && { 'content-type': 'application/json' }) };
  const response = await request(`${base}${path}`, { method, headers, ...sent });
  if (response instanceof Error) {
    return failure('unreachable', `no answer from ${new URL(base).origin}: ${response.message}`);
  }
  if (response.status === NO_CONTENT) return { kind: 'ok', body: {} };
  const parsed = readObject(await response.text().catch(() => ''));
  if (parsed === null) {
    return failure('unexpected_answer', `the answer has status ${response.status} and is not a JSON object`);
  }
  if (response.ok) return { kind: 'ok', body: parsed };
  const { code, detail, errors } = parsed;
  const failed = failure(
    typeof code === 'string' ? code : 'unexpected_answer',
    typeof detail === 'string' ? detail : `the answer has status ${response.status}`,
  );
  return Array.isArray(errors) ? { ...failed, errors: errors as readonly FieldError[] } : failed;
}

/** Returns the error if there is no response. */
async function request(url: string, options: RequestInit): Promise<Response | Error> {
  try {
    return await fetch(url, { ...options, redirect: 'manual', signal: AbortSignal.timeout(CALL_MS_MAX) });
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    const reason = cause ?? error;
    return reason instanceof Error ? reason : new Error(String(reason));
  }
}

function readObject(text: string): ApiBody | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ApiBody) : null;
  } catch {
    return null;
  }
}
