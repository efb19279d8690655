import { setPriority } from 'node:os';
import { join } from 'node:path';
import { PolicyArchive, POLICIES_NAME } from '../assets/policy-archive.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { parsePolicy } from '../risk/policy/policy-check.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { openStore } from '../state/feed/open-store.ts';
import type { BacktestOrder, BacktestSignal, BacktestTask } from './backtest-messages.ts';
import type { BacktestResult } from './backtest.ts';
import { openReplayGeo } from './replay-geo.ts';
import { runBacktest } from './run-backtest.ts';

/** A process that makes one backtest, beside the server that started it. Decisions have priority over it. */

const LOWEST_PRIORITY = 19;
const stop = new AbortController();

function signal(message: BacktestSignal, then = (): void => {}): void {
  process.send?.(message, then);
}

async function run(task: BacktestTask): Promise<BacktestResult> {
  const opened = openStore({ dataDir: task.dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const { store } = opened;
  const customer = task.customer as CustomerNumber;
  const archive = new PolicyArchive(join(task.dataDir, POLICIES_NAME), { info: () => {}, warn: () => {} });
  await archive.read();
  const present = archive.at(Infinity) ?? DEFAULT_DOCUMENT;
  const parsed = task.policy === null ? null : parsePolicy(task.policy);
  if (parsed?.kind === 'faults') throw new Error('the policy is not valid');
  const { rules } = store.rules.of(customer);
  const { links, requests, grants, lists, velocity } = task.recordKeys;
  const result = await runBacktest({
    store,
    customer,
    before: { document: present, rules },
    after: { document: parsed?.document ?? present, rules: task.rules ?? rules },
    sinceMs: task.sinceMs,
    untilMs: task.untilMs,
    geo: await openReplayGeo(task.geoipDir, task.geoipPackages),
    keyFor: (purpose) => keyOf(task.keys[purpose]),
    keys: {
      links: keyOf(links),
      requests: keyOf(requests),
      grants: keyOf(grants),
      lists: keyOf(lists),
      velocity: keyOf(velocity),
    },
    onProgress: (share, events) => signal({ kind: 'progress', share, events }),
    stop: stop.signal,
  });
  await store.close();
  return result;
}

function keyOf(hex: string | undefined): Buffer {
  return Buffer.from(hex ?? '', 'hex');
}

setPriority(LOWEST_PRIORITY);
process.once('disconnect', () => process.exit(0));
process.on('message', (order: BacktestOrder) => {
  if (order.kind === 'cancel') return stop.abort();
  void run(order).then(
    (result) => signal({ kind: 'done', result }, () => process.exit(0)),
    (error: unknown) => signal({ kind: 'failed', detail: String(error) }, () => process.exit(1)),
  );
});
