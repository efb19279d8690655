import { DASHBOARD_PATH } from '../api/dashboard/dashboard-site.ts';
import { problem, type Problem } from '../contract/problem.ts';
import type { Exchange, Handler, RequestHead, Route } from '../http/exchange.ts';
import { bodyTooLarge, sendProblem } from '../http/reply.ts';
import type { Subtree } from '../http/router.ts';
import { docsFolder } from '../kernel/programs.ts';
import type { Log } from '../observe/log.ts';
import { docsBuild } from './docs-build.ts';
import type { Settings } from './settings.ts';

/** `/` and the documentation below `/docs`, on the port of the service, on nodes of every role. Source: contract, 15.8. */

const DOCS_PATH = '/docs';
/** The same as `/docs/llms.txt`: where programs look for it. */
const LLMS_PATH = '/llms.txt';

/** As for the dashboard: scripts and styles of the build alone. Each line begins with CRLF. */
const DOCS_FIELDS = [
  '',
  "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Referrer-Policy: no-referrer',
  'Cross-Origin-Opener-Policy: same-origin',
  'Cross-Origin-Resource-Policy: same-origin',
  'X-Frame-Options: DENY',
].join('\r\n');

const REFUSED_FIELDS = '\r\nX-Content-Type-Options: nosniff';
const WRONG_METHOD = problem('method_not_allowed', 'This path does not support this method.');
const NOT_FOUND = problem('not_found', 'There is no such page.');
const NOT_BUILT = problem('not_found', 'The documentation is not part of this build. Run npm run build.');

interface DocsParts {
  readonly onRefused: (code: string) => void;
  readonly log: Log;
}

/** Returns the subtrees of the documentation; none if it is off. The pages are read when the first of them is asked for. */
export function docsSites({ hasDocs }: Pick<Settings, 'hasDocs'>, { onRefused, log }: DocsParts): readonly Subtree[] {
  if (!hasDocs) return [];
  const build = docsBuild(docsFolder(), log);
  let files: ReturnType<typeof build> = null;

  const handler: Handler = (head, exchange) => {
    exchange.addFields(DOCS_FIELDS);
    const fault = head.lengthFault ?? (head.contentLength > 0 ? bodyTooLarge(0) : head.formFault);
    if (head.method !== 'GET' && head.method !== 'HEAD') refuse(exchange, WRONG_METHOD, head, '\r\nAllow: GET, HEAD');
    else if (fault !== null) refuse(exchange, fault, head);
    else {
      files ??= build();
      const file = files?.get(head.path === LLMS_PATH ? `${DOCS_PATH}${LLMS_PATH}` : withoutSlash(head.path));
      if (file === undefined) refuse(exchange, files === null ? NOT_BUILT : NOT_FOUND, head);
      else file(head, exchange);
    }
  };

  function refuse(exchange: Exchange, fault: Problem, head: RequestHead, more = ''): void {
    onRefused(fault.code);
    // A body that nobody reads would precede the next request.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    sendProblem(exchange, fault, { more: `${more}${REFUSED_FIELDS}`, close });
  }

  return [DOCS_PATH, LLMS_PATH].map((path) => ({ path, handler }));
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** `GET /`: the dashboard where it is on this port, otherwise where the documents are. */
export function rootRoute({ hasDocs }: Pick<Settings, 'hasDocs'>, hasDashboard: boolean): Route {
  const documents = [
    ...(hasDocs ? [`Documentation: ${DOCS_PATH}`, `For programs: ${LLMS_PATH}`] : []),
    'Calls: /openapi.json',
    'State: /readyz',
  ];
  const text = `Gatehouse\n\n${documents.join('\n')}\n`;
  const GET: Handler = (_head, exchange) => {
    const fields = `text/plain; charset=utf-8\r\nCache-Control: no-cache${REFUSED_FIELDS}`;
    if (hasDashboard) exchange.send(302, `${fields}\r\nLocation: ${DASHBOARD_PATH}`, '');
    else exchange.send(200, fields, text);
  };
  return { path: '/', methods: { GET }, bodyBytesMax: 0 };
}
