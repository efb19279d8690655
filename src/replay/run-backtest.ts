import type { CustomerNumber } from '../kernel/brand.ts';
import type { RecordKeys } from '../frames/score-messages.ts';
import { readDecisions } from '../history/open-decision-log.ts';
import { readRequests } from '../history/request-log/read-requests.ts';
import { listRequestFiles } from '../history/request-log/request-files.ts';
import type { OwnRule } from '../risk/policy/own-rule.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';
import { compilePolicies, type PolicySet } from '../risk/policy/policy-set.ts';
import { PolicyView } from '../risk/policy/policy-view.ts';
import { createSources } from '../score/sources.ts';
import type { Store } from '../state/feed/open-store.ts';
import { backtestRequests, type BacktestResult, comparedPolicies } from './backtest.ts';
import { FeaturesBacktest } from './backtest-features.ts';
import { ReplayEngine } from './replay-engine.ts';
import type { ReplayGeo } from './replay-geo.ts';

/** A policy file with the rules that the customer has over the API. */
export interface BacktestPolicy {
  readonly document: PolicyDocument;
  readonly rules: readonly OwnRule[];
}

export interface BacktestRun {
  readonly store: Store;
  readonly customer: CustomerNumber;
  readonly before: BacktestPolicy;
  readonly after: BacktestPolicy;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly geo: ReplayGeo;
  readonly keyFor: (purpose: string) => Uint8Array;
  readonly keys: RecordKeys & { readonly velocity: Uint8Array };
  readonly onProgress: (share: number, events: number) => void;
  readonly stop: AbortSignal;
}

/** The service's default. */
const VELOCITY_BYTES = 256 * 2 ** 20;

/** Tries a policy on the past of a customer: on its logged requests, else approximately on its decisions. */
export async function runBacktest(run: BacktestRun): Promise<BacktestResult> {
  const { store, customer, geo, keyFor, sinceMs, untilMs } = run;
  const [before, after] = [run.before, run.after].map((policy) => policySetOf(store, customer, policy));
  if (before === undefined || after === undefined) throw new Error('a backtest has two policies');
  const labelOf = (requestId: string): 'fraud' | 'legitimate' | null =>
    store.labels.find(customer, requestId)?.label ?? null;
  if (listRequestFiles(store.dataDir, customer).length === 0) {
    const approximation = new FeaturesBacktest(customer, before, after);
    const reading = readDecisions(store, { customer, sinceMs }, (_customer, record) => {
      if (record.occurredAtMs < untilMs) approximation.add(record, labelOf(record.requestId));
    });
    let step = reading.next();
    while (step.done !== true && !run.stop.aborted) {
      // Lets a request to cancel in.
      await new Promise((done) => setImmediate(done));
      step = reading.next();
    }
    return approximation.result(step.done === true ? step.value : 0);
  }
  const { sources } = createSources(store, geo.geo);
  const policies = comparedPolicies(before, after);
  const engine = new ReplayEngine({ policies, geo: geo.geo, sources, velocityBytes: VELOCITY_BYTES, keys: run.keys });
  const isBlind = geo.missing.includes('city') && geo.missing.includes('country');
  return backtestRequests({
    customer,
    pieces: readRequests({ dataDir: store.dataDir, customer, keyFor }, untilMs),
    sinceMs,
    engine,
    labelOf,
    rules: rulesInForce(store, customer, run.after),
    factsMissing: isBlind ? ['ip.country'] : [],
    onProgress: run.onProgress,
    stop: run.stop,
  });
}

/** A rule of the file wins over one of the API. */
function rulesInForce({ customers }: Store, customer: CustomerNumber, { document, rules }: BacktestPolicy): OwnRule[] {
  const view = new PolicyView(document, customers.find(customer)?.id ?? '');
  const inFile = view.ruleCodes;
  return [...view.ownRules(), ...rules.filter(({ code }) => !inFile.has(code))];
}

function policySetOf({ customers }: Store, customer: CustomerNumber, { document, rules }: BacktestPolicy): PolicySet {
  const numberOf = (id: string): CustomerNumber | null => customers.findById(id)?.number ?? null;
  return compilePolicies(document, numberOf, new Map([[customer, rules]]));
}
