import { type ProblemCode, PROBLEMS } from '../../src/contract/problem.ts';
import { type Endpoint, hasWarnings } from '../../src/contract/endpoint.ts';
import { ENDPOINTS } from '../../src/contract/endpoints.ts';
import { preflightOf } from '../../src/contract/endpoints/preflight-endpoints.ts';
import { type HeaderName, HEADERS, RATE_HEADERS } from '../../src/contract/headers.ts';
import { IGNORED_MEMBERS } from '../../src/contract/responses/warning-responses.ts';
import { PROBLEM } from '../../src/contract/responses/problem-responses.ts';

/** Checks every response that a test receives against the table of endpoints. */

/** A received response. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

/** Throws if the table does not describe the response. `target` is the request target, including its query. */
export function expectDocumented(method: string, target: string, answer: Answer): void {
  const faults = faultsOf(method, target, answer);
  if (faults.length === 0) return;
  const [path] = target.split('?');
  throw new Error(`${method} ${path} answered ${answer.status}: ${faults.join('; ')}\n${answer.text.slice(0, 500)}`);
}

function faultsOf(method: string, target: string, answer: Answer): readonly string[] {
  const [whole = ''] = target.split('?');
  // The dashboard leads to the same endpoints. It refuses with codes of its own before it does, without fields of rates.
  const path = whole.replace(/^\/dashboard\/api(?=\/(?:v1\/|readyz$))/, '');
  const isBefore = whole.startsWith('/dashboard/api') && whole !== ENDPOINTS.readSignIn.path;
  if (isBefore && DASHBOARD_CODES.has(String(answer.json['code']))) return bodyFaults(PROBLEM, answer.json);
  // The HTTP parser's own error responses never reach the service's code, see docs/api.md, "Refusals".
  if (isOfParser(answer)) return [];
  const spoken = method === 'HEAD' ? 'GET' : method;
  const onPath = Object.values(ENDPOINTS).filter((one) => {
    return matches(one.path, path) && (path === whole || one.access !== 'public_or_secret');
  });
  const endpoint = onPath.find((one) => one.method === spoken) ?? preflight(method, onPath);
  if (isProblem(answer)) return problemFaults(method, answer, endpoint, onPath.length > 0);
  if (endpoint === undefined) return ['there is no such endpoint, so this must be a problem'];
  return successFaults(method, answer, endpoint);
}

const DASHBOARD_CODES: ReadonlySet<string> = new Set(['session_required', 'cross_site_request', 'read_only']);

function preflight(method: string, onPath: readonly Endpoint[]): Endpoint | undefined {
  const called = onPath.find(({ cors }) => cors === true);
  return method === 'OPTIONS' && called !== undefined ? preflightOf(called) : undefined;
}

function isOfParser({ status, headers }: Answer): boolean {
  return [400, 431, 505].includes(status) && headers['cache-control'] === undefined;
}

function isProblem({ headers }: Answer): boolean {
  return headers['content-type'] === 'application/problem+json';
}

/** Exact paths take precedence over paths with parameters. */
function matches(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  if (Object.values(ENDPOINTS).some((endpoint) => endpoint.path === path)) return false;
  const segments = pattern.split('/');
  const parts = path.split('/');
  return (
    segments.length === parts.length &&
    segments.every((text, index) => text === parts[index] || (text.startsWith('{') && isName(parts[index] ?? '')))
  );
}

/** Returns false for a segment that is empty or cannot be decoded. It matches no parameter, so its path does not exist. */
function isName(part: string): boolean {
  try {
    return decodeURIComponent(part) !== '';
  } catch {
    return false;
  }
}

function problemFaults(
  method: string,
  answer: Answer,
  endpoint: Endpoint | undefined,
  isPath: boolean,
): readonly string[] {
  const code = String(answer.json['code']) as ProblemCode;
  const known = PROBLEMS[code] as (typeof PROBLEMS)[ProblemCode] | undefined;
  const faults: string[] = [];
  if (method !== 'HEAD') {
    faults.push(...bodyFaults(PROBLEM, answer.json));
    if (known?.[0] !== answer.status || known[1] !== answer.json['title'])
      faults.push('status or title of another code');
    const isListed = endpoint === undefined ? isOfNoEndpoint(code, isPath) : endpoint.problems.includes(code);
    if (!isListed) faults.push(`the code ${code} is not listed`);
  }
  if (answer.status === 405 && answer.headers['allow'] === undefined) faults.push('Allow is missing');
  if ([429, 503].includes(answer.status) && answer.headers['retry-after'] === undefined) {
    faults.push('Retry-After is missing');
  }
  return [...faults, ...(endpoint === undefined ? [] : rateFaults(answer, endpoint))];
}

/**
 * Returns whether the code is allowed without an endpoint: for an unknown path, or for a method that the path does not support. While the
 * service starts, `overloaded` is allowed too.
 */
function isOfNoEndpoint(code: ProblemCode, isPath: boolean): boolean {
  return code === 'overloaded' || code === (isPath ? 'method_not_allowed' : 'not_found');
}

function successFaults(method: string, answer: Answer, endpoint: Endpoint): readonly string[] {
  const spec = endpoint.responses[answer.status as keyof Endpoint['responses']];
  if (spec === undefined) return ['the status is not listed'];
  const faults = [...rateFaults(answer, endpoint), ...headerFaults(answer, spec.headers ?? [])];
  const types = Object.keys(spec.content ?? {});
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
  if (types.length === 0) return answer.text === '' ? faults : [...faults, 'there must be no body'];
  const schema = spec.content?.[type];
  if (schema === undefined) return [...faults, `the media type ${type} is not listed`];
  if (method === 'HEAD' || type !== 'application/json') return faults;
  const found = bodyFaults(schema, JSON.parse(answer.text));
  const others = found.filter((fault) => fault !== '/warnings is not in the schema');
  if (others.length === found.length || !hasWarnings(endpoint)) return [...faults, ...found];
  return [...faults, ...others, ...bodyFaults(IGNORED_MEMBERS, { warnings: answer.json['warnings'] })];
}

/** Reports schema violations, and fields that the schema does not name. */
function bodyFaults(schema: { safeParse(body: unknown): ParseResult }, body: unknown): readonly string[] {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`);
  return unknownNames(body, parsed.data, '').map((pointer) => `${pointer} is not in the schema`);
}

type ParseResult =
  | { readonly success: true; readonly data?: unknown }
  | {
      readonly success: false;
      readonly error: {
        readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
      };
    };

/** Compares the body with the parsed value, because parsing drops fields that the schema does not name. */
function unknownNames(given: unknown, parsed: unknown, pointer: string): readonly string[] {
  if (typeof given !== 'object' || given === null || typeof parsed !== 'object' || parsed === null) return [];
  const known = parsed as Readonly<Record<string, unknown>>;
  return Object.entries(given).flatMap(([name, value]) =>
    name in known ? unknownNames(value, known[name], `${pointer}/${name}`) : [`${pointer}/${name}`],
  );
}

function rateFaults(answer: Answer, { access }: Endpoint): readonly string[] {
  if (access !== 'secret' && access !== 'public_or_secret') return [];
  // While the service starts, it has not loaded any keys, and therefore no rate limits.
  if (answer.json['detail'] === 'The service is starting.') return [];
  // The transport refuses a body before its caller is known. Source: D-018.
  if (String(answer.json['detail']).startsWith('The limit on request bodies')) return [];
  return RATE_HEADERS.filter((name) => answer.headers[name.toLowerCase()] === undefined).map(
    (name) => `${name} is missing`,
  );
}

/** Reports header fields of the table that this response must not have, and a missing Location. */
function headerFaults(answer: Answer, listed: readonly HeaderName[]): readonly string[] {
  const rate: readonly string[] = RATE_HEADERS;
  const own = (Object.keys(HEADERS) as HeaderName[]).filter((name) => !rate.includes(name));
  const given = own.filter((name) => answer.headers[name.toLowerCase()] !== undefined);
  const unlisted = given.filter((name) => !listed.includes(name)).map((name) => `${name} is not listed`);
  const isMissing = listed.includes('Location') && !given.includes('Location');
  return isMissing ? [...unlisted, 'Location is missing'] : unlisted;
}
