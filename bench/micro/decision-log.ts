import { openDecisionLog } from '../../src/history/open-decision-log.ts';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LinkHasher } from '../../src/risk/decision-links.ts';
import { LinkTailWriter } from '../../src/risk/link-tail.ts';
import { encodeRecord, type LinkTail } from '../../src/risk/decision-record.ts';
import { DECISION_SCAN_ROWS_MAX, FLAGGED_KEPT_MS } from '../../src/kernel/history-limits.ts';
import type { DecisionLog } from '../../src/history/decision-log.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';
import { calmFacts, CUSTOMER, makeFolder, NOW_SECONDS, removeFolder, sharedCopy } from './fixtures.ts';
import { Spent } from './spent.ts';
import { Ring, type Stage, type Tasks } from './stage.ts';

const NOW_MS = NOW_SECONDS * 1000;
/** Decisions in a quarter of a second at 40,000 decisions/s. */
const WRITE_ROWS = 10_000;
const ANOTHER = 8 as CustomerNumber;

export const decisionLog: Stage = {
  name: 'decision log',
  samplesMin: 8,
  async add(tasks, { smoke }) {
    const folder = makeFolder();
    const rows = smoke ? 2_000 : 1_000_000;
    const { writing, handOverMs } = addWrites(tasks, `${folder}/writing`);
    const full = `${folder}/full`;
    const ids = await fill(full, rows);
    const { store: reading, log } = opened(full);
    tasks.addAsync(`open ${rows.toLocaleString('en')} decisions`, {
      perSample: rows,
      async run() {
        const { store, log: again } = opened(full);
        const found = again.stats().rows;
        await store.close();
        return found;
      },
      isSane: (found) => found === rows,
    });
    tasks.add(`find one of ${rows.toLocaleString('en')}`, {
      perSample: 16,
      run: (n) => log.find(CUSTOMER, ids.at(n * 7).id, NOW_MS),
      isSane: (found) => found !== null,
    });
    const spent = addSearches(tasks, log, rows);
    return {
      notes() {
        const { bytes, rows: kept } = log.stats();
        const middle = handOverMs.sort((a, b) => a - b)[handOverMs.length >> 1] ?? 0;
        return [
          `find by a link, ms: ${spent.toString()}`,
          `decision log: ${(bytes / kept).toFixed(0)} bytes per decision; handing over ${WRITE_ROWS} rows blocks the main thread for ${middle.toFixed(2)} ms`,
        ];
      },
      async close() {
        await writing.close();
        await reading.close();
        removeFolder(folder);
      },
    };
  },
};

/** Tasks that append to a log and write it. Returns its store, and the times that handing over rows blocked the main thread. */
function addWrites(tasks: Tasks, folder: string): { readonly writing: Store; readonly handOverMs: number[] } {
  const shared = Ring.of(1_024, (n) => sharedCopy(recordAt(NOW_MS + n, n)));

  const { store: writing, log: fresh } = opened(folder);
  tasks.add('append', {
    perSample: 4_096,
    // Deletes all rows, so that every sample begins with an empty log and warm buffers.
    prepare() {
      fresh.prune(NOW_MS + 2 * FLAGGED_KEPT_MS);
      void fresh.flush();
    },
    run(n) {
      fresh.append(CUSTOMER, shared.at(n), 1.2);
      return fresh;
    },
    isSane: (log) => log.stats().dropped === 0 && log.stats().rows === 4_096,
  });
  const handOverMs: number[] = [];
  tasks.addAsync(`write ${WRITE_ROWS} in the background`, {
    perSample: WRITE_ROWS,
    prepare() {
      for (let n = 0; n < WRITE_ROWS; n++) fresh.append(ANOTHER, shared.at(n), 1.2);
    },
    async run() {
      const startedAtMs = performance.now();
      const written = fresh.flush();
      handOverMs.push(performance.now() - startedAtMs);
      await written;
      return fresh.broken;
    },
    isSane: (broken) => broken === null,
  });
  return { writing, handOverMs };
}

/** Tasks that search a log of `rows` decisions. Returns the times of the look-ups by a link. */
function addSearches(tasks: Tasks, log: DecisionLog, rows: number): Spent {
  const spent = new Spent();
  let usersFound = 0;
  const findByLink = async (): Promise<number> => {
    const user = usersFound++ % users(rows);
    const links = [{ hash: tailOf(user).subarray(-1 - 8, -1), isIn: () => false }];
    const asked = { decision: null, text: null, after: null, limit: LINKED, nowMs: NOW_MS, filter: { links } };
    const page = await log.search(CUSTOMER, asked);
    return page.kind === 'page' ? page.rows.length : -1;
  };
  tasks.addAsync(`find ${LINKED} by a link in ${rows.toLocaleString('en')}`, {
    perSample: LOOK_UPS,
    async run() {
      let least = LINKED;
      for (let n = 0; n < LOOK_UPS; n++) least = Math.min(least, await spent.measure(findByLink));
      return least;
    },
    isSane: (least) => least === Math.min(LINKED, rows),
  });
  const looked = Math.min(rows, DECISION_SCAN_ROWS_MAX);
  const query = { decision: null, after: null, limit: 100, nowMs: NOW_MS };
  for (const [name, text, isSane] of [
    ['search, nothing matches', 'no such reason', (found: number) => found === 0],
    ['search, a page', null, (found: number) => found === 100],
  ] as const) {
    tasks.addAsync(`${name}${text === null ? '' : `, ${looked.toLocaleString('en')} rows`}`, {
      perSample: text === null ? 100 : looked,
      async run() {
        const page = await log.search(CUSTOMER, { ...query, text });
        return page.kind === 'page' ? page.rows.length : -1;
      },
      isSane,
    });
  }
  return spent;
}

/** Decisions of each user in the log. */
const LINKED = 100;
/** Look-ups by a link of one sample: the stage makes some dozens of samples, and a p99 needs hundreds of look-ups. */
const LOOK_UPS = 16;

function users(rows: number): number {
  return Math.max(1, Math.floor(rows / LINKED));
}

const hasher = new LinkHasher(Buffer.alloc(32, 7));
const tails = new LinkTailWriter();
const known = new Map<number, Buffer>();

/** Returns six links of a user: a session and a device of its own, an address and a network of ten users, two identities. */
function tailOf(user: number): Buffer {
  let tail = known.get(user);
  if (tail !== undefined) return tail;
  tails.reset();
  const shared = Math.floor(user / 10);
  for (const [kind, value] of [
    ['session', `s${user}`],
    ['ip', `ip ${shared}`],
    ['network', `network ${shared}`],
    ['fingerprint', `device ${user}`],
  ] as const) {
    hasher.update(CUSTOMER, kind, value);
    tails.addKind(kind, hasher);
  }
  for (const name of ['email', 'user_id']) {
    hasher.updateEntity(CUSTOMER, name, `user ${user}`);
    tails.addEntity(name, hasher);
  }
  tail = tails.done() ?? Buffer.alloc(0);
  known.set(user, tail);
  return tail;
}

function opened(folder: string): { readonly store: Store; readonly log: DecisionLog } {
  const outcome = openStore({ dataDir: folder, readOnly: false });
  if (outcome.kind === 'fault') throw new Error(outcome.detail);
  return { store: outcome.store, log: openDecisionLog(outcome.store) };
}

/** Fills a log with `rows` decisions, 40 per millisecond. Returns a sample of their ids. */
async function fill(folder: string, rows: number): Promise<Ring<{ readonly id: string }>> {
  const { store, log } = opened(folder);
  const ids: { id: string }[] = [];
  const firstMs = NOW_MS - Math.ceil(rows / 40);
  for (let n = 0; n < rows; n++) {
    const bytes = tailOf((n * 7_919) % users(rows));
    const record = recordAt(firstMs + Math.floor(n / 40), n, { bytes, identities: null });
    if (n % Math.floor(rows / 1_024) === 0 && ids.length < 1_024) ids.push({ id: record.latin1Slice(4, 34) });
    log.append(CUSTOMER, record, 1.2);
    if (n % WRITE_ROWS === 0) await log.flush();
  }
  await log.indexed();
  await store.close();
  return new Ring(ids);
}

function recordAt(occurredAtMs: number, n: number, links: LinkTail | null = null): Buffer {
  return encodeRecord({
    requestId: newId('req', occurredAtMs),
    occurredAtMs,
    verdict: { decision: n % 5 === 0 ? 'REVIEW' : 'ALLOW', score: 73.2, reasons: [], reviewHint: '' },
    sessionMode: 'unverified',
    shadow: null,
    publicKey: false,
    eventType: 'login',
    facts: FACTS,
    links,
    contributions: [
      { rule: { code: 'device_http_library' }, weight: 0.62, evidence: 'curl/8.5.0' },
      { rule: { code: 'journey_direct_hit' }, weight: 0.1, evidence: 'no referrer' },
    ],
  });
}

const FACTS = calmFacts();
