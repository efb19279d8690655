import { lookup as systemLookup, Resolver as NameServers } from 'node:dns/promises';
import { codeOf } from './faults.ts';
import { HostsFile } from './hosts-file.ts';
import { LookupTurns } from './lookup-turns.ts';

/**
 * Returns all addresses of a name, in the order in which to try them. Rejects with an error that has a `code`. `signal` aborts when nobody
 * waits any more: a look-up that has not started by then must not start, and rejects with `ECANCELLED`.
 */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Resolves names with what this machine has: first its hosts file, then its name servers, which are queried without blocking a thread. The
 * system's own look-up, which knows search domains and the like, is used only for names unknown to the servers. It blocks a thread for as
 * long as a name hangs, and those threads also serve file access, so a name for which the servers time out never reaches it.
 */

/** Choice: maximum number of names queried at the servers at once. A query is a datagram and a few KiB. */
const SERVERS_AT_ONCE_MAX = 128;
const SERVERS_PER_DOMAIN_MAX = 32;
/** Choice: ms for a server's first attempt, doubled for the second, so that a dead server leaves time for the next one. */
const SERVER_TIMEOUT_MS = 700;
const SERVER_TRIES = 2;
/** Choice: ms after which a name gives up its slot, however many servers there are. */
const SERVERS_MS_MAX = 5_000;
/** Choice: ms that IPv6 addresses may arrive later than IPv4 addresses; some name servers never answer for them. Source: RFC 8305, 3. */
const SECOND_FAMILY_MS = 50;
/** Choice: maximum age of the server list. Rebuilding it takes 30 µs. */
const SERVERS_KEPT_MS = 60_000;
/** Choice: libuv runs look-ups on at most half of its 4 threads. The others stay free for files. */
const SYSTEM_AT_ONCE_MAX = 2;
const SYSTEM_PER_DOMAIN_MAX = 1;
/** Choice: ms after which a look-up that hangs gives up its slot. The system's own look-up usually ends within 30 s. */
const SYSTEM_MS_MAX = 30_000;

export interface NameLookupOptions {
  /** `address:port` of the servers to use instead of the machine's own. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly system?: (host: string) => Promise<readonly string[]>;
}

export function nameLookup({ servers, hostsFile, system = bySystem }: NameLookupOptions = {}): Lookup {
  const hosts = new HostsFile(hostsFile);
  const serverTurns = new LookupTurns(SERVERS_AT_ONCE_MAX, SERVERS_PER_DOMAIN_MAX);
  const systemTurns = new LookupTurns(SYSTEM_AT_ONCE_MAX, SYSTEM_PER_DOMAIN_MAX);
  let asked = nameServers(servers);
  let askedSinceMs = performance.now();
  return async (host, signal) => {
    const known = await hosts.find(host);
    if (known !== null) return known;
    if (performance.now() - askedSinceMs > SERVERS_KEPT_MS) {
      asked = nameServers(servers);
      askedSinceMs = performance.now();
    }
    const answer = await serverTurns.run(host, signal, () => within(SERVERS_MS_MAX, askServers(asked, host)));
    if (answer.kind === 'found') return answer.addresses;
    if (TIME_OUTS.has(answer.code)) throw failure(answer.code, host);
    const last = await systemTurns.run(host, signal, () => within(SYSTEM_MS_MAX, answerOf(system(host))));
    if (last.kind === 'found') return last.addresses;
    throw failure(last.code, host);
  };
}

type Answer =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'failed'; readonly code: string };

const NO_ANSWER: Answer = { kind: 'failed', code: 'ETIMEOUT' };
const TIME_OUTS = new Set(['ETIMEOUT', 'ECANCELLED']);

function nameServers(servers: readonly string[] | undefined): NameServers {
  const made = new NameServers({ timeout: SERVER_TIMEOUT_MS, tries: SERVER_TRIES });
  if (servers !== undefined) made.setServers(servers);
  return made;
}

/**
 * Queries both families at once. Choice: IPv4 comes first because every machine has it. IPv6 is used if IPv4 is missing or unreachable. If
 * neither family was found, a time-out of either one decides the result, because the name may well exist.
 */
async function askServers(servers: NameServers, host: string): Promise<Answer> {
  const asked6 = answerOf(servers.resolve6(host));
  const v4 = await answerOf(servers.resolve4(host));
  const v6 = await (v4.kind === 'found' ? within(SECOND_FAMILY_MS, asked6) : asked6);
  if (v4.kind === 'found')
    return { kind: 'found', addresses: v6.kind === 'found' ? [...v4.addresses, ...v6.addresses] : v4.addresses };
  if (v6.kind === 'found') return v6;
  return TIME_OUTS.has(v6.code) ? v6 : v4;
}

function answerOf(asked: Promise<readonly string[]>): Promise<Answer> {
  return asked.then(
    (addresses) => ({ kind: 'found', addresses }),
    (error: unknown) => ({ kind: 'failed', code: codeOf(error) }),
  );
}

async function within(ms: number, asked: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((done) => {
    timer = setTimeout(() => done(NO_ANSWER), ms);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

function failure(code: string, host: string): Error {
  return Object.assign(new Error(`${code} ${host}`), { code });
}

/** Keeps the system's own order of addresses, which follows its rules of preference. */
async function bySystem(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}
