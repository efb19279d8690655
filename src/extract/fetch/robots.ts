import { politeDomain } from './attempt.ts';
import { FetchFailure } from './source-failure.ts';
import { follow } from './follow.ts';
import type { FetchParts } from './fetch-parts.ts';
import type { RobotsAnswer } from './robots-cache.ts';
import { NO_RULES, parseRobots } from './robots-rules.ts';

/** Choice: more than is parsed, so that a larger file is still read at its beginning. */
const ROBOTS_WIRE_BYTES_MAX = 4 * 1_048_576;

type OnBytes = (bytes: number) => void;

/** Rejects if robots.txt disallows the URL or cannot be fetched. Reports the crawl delay to the rate limiter. */
export async function holdToRobots(parts: FetchParts, url: string, onBytes: OnBytes): Promise<void> {
  const answer = await findRobots(parts, url, onBytes);
  if (answer.kind === 'unknown') throw answer.failure;
  const { crawlDelayMs } = answer.rules;
  // Reported each time, because the rate limiter removes idle domains.
  if (crawlDelayMs !== null) parts.polite.report(politeDomain(url), { crawlDelayMs });
  if (!answer.rules.allows(url)) throw new FetchFailure('robots', `robots.txt disallows ${url}`);
}

export async function findRobots(parts: FetchParts, url: string, onBytes: OnBytes): Promise<RobotsAnswer> {
  const { origin } = new URL(url);
  return await parts.robots.find(
    origin,
    () => parts.clock.nowMs(),
    () => loadRobots(parts, origin, onBytes),
  );
}

/**
 * Source: RFC 9309, section 2.3.1: without a robots.txt (4xx, or more than five redirects) everything is allowed; if it cannot be reached
 * (5xx, or no response), everything is disallowed.
 * Choice: 429 is the source's rate limit and does not count as absent. A host that does not respond
 * at all is reported as unavailable rather than as disallowing.
 */
async function loadRobots(parts: FetchParts, origin: string, onBytes: OnBytes): Promise<RobotsAnswer> {
  try {
    const followed = await follow(parts, {
      url: `${origin}/robots.txt`,
      accept: 'text/plain, */*;q=0.5',
      headers: {},
      bytesMax: ROBOTS_WIRE_BYTES_MAX,
      session: null,
      patience: { retries: 0 },
      beforeHop: () => Promise.resolve(),
      isAnswer: isAbsence,
      opensGzip: false,
      leavesPacked: false,
      onBytes,
    });
    const isFile = followed.kind === 'answer' && followed.status >= 200 && followed.status < 300;
    return { kind: 'rules', rules: isFile ? parseRobots(origin, followed.body) : NO_RULES };
  } catch (error) {
    if (!(error instanceof FetchFailure)) throw error;
    // A login page instead of the file counts as absent too.
    if (error.fault === 'login') return { kind: 'rules', rules: NO_RULES };
    const isBroken = error.fault === 'server_error' || error.fault === 'too_large' || error.fault === 'content';
    return { kind: 'unknown', failure: isBroken ? new FetchFailure('robots_unavailable', error.message) : error };
  }
}

function isAbsence(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}
