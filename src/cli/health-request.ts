import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

/** Choice: less than the time-out of a container's health check. */
const HEALTH_MS_MAX = 4_000;
/** Choice: a report has some 2 KB. */
const REPORT_BYTES_MAX = 1_048_576;

/** The report of `/readyz`. */
export interface HealthReport {
  readonly status: string;
  readonly version: string;
  readonly transport: string;
  readonly layers: Readonly<
    Record<string, { readonly state: string; readonly detail?: string; readonly version?: string | null }>
  >;
}

export type Health =
  | { readonly kind: 'report'; readonly isHealthy: boolean; readonly report: HealthReport }
  | { readonly kind: 'unreachable'; readonly detail: string };

/** Returns the address of the server with these settings, as seen from its own machine. */
export function ownUrl(env: Readonly<NodeJS.ProcessEnv>): string {
  const host = env['GATEHOUSE_HOST'] || '127.0.0.1';
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const name = reached.includes(':') ? `[${reached}]` : reached;
  return `${env['GATEHOUSE_TLS_CERT'] ? 'https' : 'http'}://${name}:${env['GATEHOUSE_PORT'] || '8080'}`;
}

/**
 * Reads `/readyz`. The certificate is not verified: it is made for the public name, and this asks the server of this machine for nothing
 * secret. Choice: `node:http` instead of `fetch`, which takes 30 ms to load, for a health check that runs every few seconds.
 */
export function readHealth(origin: string): Promise<Health> {
  return new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ kind: 'unreachable', detail: error.message });
    const url = new URL('/readyz', origin);
    const get = url.protocol === 'https:' ? getHttps : getHttp;
    const request = get(url, { rejectUnauthorized: false, agent: false, timeout: HEALTH_MS_MAX }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', fail);
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > REPORT_BYTES_MAX) response.destroy(new Error('the report is too long'));
      });
      response.on('end', () => {
        const report = readReport(text);
        if (report === null) fail(new Error(`the answer has status ${response.statusCode} and is not a report`));
        else resolve({ kind: 'report', isHealthy: response.statusCode === 200, report });
      });
    });
    request.on('timeout', () => request.destroy(new Error(`nothing within ${HEALTH_MS_MAX / 1000} s`)));
    request.on('error', fail);
  });
}

function readReport(text: string): HealthReport | null {
  try {
    const value = JSON.parse(text) as Partial<HealthReport> | null;
    if (typeof value?.status !== 'string') return null;
    return { version: '', transport: '', ...value, status: value.status, layers: value.layers ?? {} };
  } catch {
    return null;
  }
}
