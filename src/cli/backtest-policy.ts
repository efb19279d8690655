import { LIST_VALUES_PURPOSE } from '../risk/lists/list-key.ts';
import { join } from 'node:path';
import { PolicyArchive, POLICIES_NAME } from '../assets/policy-archive.ts';
import { noteText, readPolicyFile } from '../assets/policy-read.ts';
import { GRANTS_PURPOSE, LINKS_PURPOSE, REQUESTS_PURPOSE } from '../app/installation.ts';
import type { Customer } from '../state/tables/customer-table.ts';
import type { Store } from '../state/feed/open-store.ts';
import { deriveKey, openMasterKey } from '../state/repair/master-key.ts';
import type { BacktestResult, DecisionMatrix } from '../replay/backtest.ts';
import { runBacktest } from '../replay/run-backtest.ts';
import { DECISIONS } from '../risk/decision.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { failure, failureOf, ok, usage, type CommandOutcome } from './command-outcome.ts';
import type { Io } from './io.ts';
import { createProgress } from './progress.ts';
import { givenGeo } from './replay-inputs.ts';
import { tableText } from './text-table.ts';
import { withStore } from './with-store.ts';

export interface BacktestWords {
  readonly since: number;
  readonly customer?: string;
  readonly dataDir: string;
}

const DAY_MS = 86_400_000;
/** Parts of the progress bar, which counts shares. */
const PROGRESS_STEPS = 10_000;

/** Runs `gatehouse policy backtest`, beside a running server or without one. */
export async function backtestPolicy(file: string, words: BacktestWords, io: Io): Promise<CommandOutcome> {
  const read = await readPolicyFile(file);
  if (read.kind === 'unreadable') return failure('unreadable_file', `${file} cannot be used: ${read.detail}`);
  if (read.kind === 'faults') {
    const lines = read.faults.map((fault) => `  ${noteText(fault)}`);
    return failure('invalid_policy', [`${file} is not valid:`, ...lines].join('\n'));
  }
  return withStore(words.dataDir, async (store) => {
    const customer = customerOf(store, words.customer);
    if (customer === null)
      return usage('usage', 'name one of the customers by --customer', {
        hints: store.customers.all().map(({ id, name }) => `${id} ${name}`),
      });
    const master = openMasterKey(words.dataDir, io.env['GATEHOUSE_MASTER_KEY']);
    if (master.kind === 'fault') return failureOf(master);
    const keyFor = (purpose: string): Buffer => deriveKey(master.key, purpose);
    const archive = new PolicyArchive(join(words.dataDir, POLICIES_NAME), { info: () => {}, warn: () => {} });
    await archive.read();
    const { rules } = store.rules.of(customer.number);
    const untilMs = Date.now();
    const progress = createProgress(PROGRESS_STEPS, io.write);
    const startedAtMs = performance.now();
    const result = await runBacktest({
      store,
      customer: customer.number,
      before: { document: archive.at(Infinity) ?? DEFAULT_DOCUMENT, rules },
      after: { document: read.document, rules },
      sinceMs: untilMs - words.since * DAY_MS,
      untilMs,
      geo: await givenGeo(io.env, words.dataDir, true),
      keyFor,
      keys: {
        links: keyFor(LINKS_PURPOSE),
        requests: keyFor(REQUESTS_PURPOSE),
        grants: keyFor(GRANTS_PURPOSE),
        lists: keyFor(LIST_VALUES_PURPOSE),
        velocity: keyFor('velocity-hash'),
      },
      onProgress(share, events) {
        const rate = Math.round(events / Math.max(0.001, (performance.now() - startedAtMs) / 1_000));
        progress.update(share * PROGRESS_STEPS, `${events} events, ${rate}/s`);
      },
      stop: io.stopSignal(),
    }).finally(() => progress.stop());
    return ok(result, backtestText(result), result.damaged.length > 0);
  });
}

/** Returns the named customer, or the only one; null without one. */
function customerOf({ customers }: Store, id: string | undefined): Customer | null {
  if (id !== undefined) return customers.findById(id);
  const all = customers.all();
  return all.length === 1 ? (all[0] ?? null) : null;
}

function backtestText(result: BacktestResult): string {
  const { recorded, damaged, facts_missing: missing } = result;
  return [
    result.source === 'requests'
      ? `${result.events} logged requests were decided again; the log begins at ${result.log_from ?? '-'}.`
      : `${result.events} decisions of the log were weighed again, because no requests are logged (log_requests): an approximation.`,
    ...(missing.length > 0 ? [`Without these facts: ${missing.join(', ')}`] : []),
    ...(recorded !== null && recorded.different > 0
      ? [`${recorded.different} decisions under the present policy differ from those that were made: ${CAUSES}.`]
      : []),
    ...damaged.map(({ file, fromByte, toByte }) => `Damaged and skipped: ${file}, bytes ${fromByte} to ${toByte}`),
    '',
    'Decisions: rows before, columns after',
    matrixText(result.matrix),
    ...(['fraud', 'legitimate'] as const).flatMap((label) =>
      isEmpty(result.by_label[label]) ? [] : ['', `Labelled ${label}`, matrixText(result.by_label[label])],
    ),
    '',
    `People touched: ${result.people_touched}`,
    tableText(
      ['Decision', 'Before', 'After', 'Reasons'],
      result.examples.map(({ request_id, before, after, reasons }) => [request_id, before, after, reasons.join(', ')]),
      'No decision changes.',
    ),
  ].join('\n');
}

const CAUSES = 'earlier policies, history before the log, lists, the registry or a model';

function isEmpty(matrix: DecisionMatrix): boolean {
  return DECISIONS.every((before) => DECISIONS.every((after) => matrix[before][after] === 0));
}

function matrixText(matrix: DecisionMatrix): string {
  const rows = DECISIONS.map((before) => [before, ...DECISIONS.map((after) => String(matrix[before][after]))]);
  return tableText(['', ...DECISIONS], rows, '');
}
