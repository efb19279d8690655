import { liveCustomerOf } from '../kernel/test-customers.ts';
import { defaultRetention, retentionIn, type RetentionOf } from '../risk/policy/row-retention.ts';
import { policyByCustomer } from './policy-by-customer.ts';
import { type OpenRequests, openRequestLog } from './wire-requests.ts';
import { ModelBreaker } from './model-breaker.ts';
import { RuleTrips } from './rule-trips.ts';
import { followRules, readStoredRules } from './follow-rules.ts';
import { join } from 'node:path';
import { openDecisionLog, openDecisionStats } from '../history/open-decision-log.ts';
import type { Clock } from '../kernel/clock.ts';
import { REPLAY_HOLD_SECONDS } from '../kernel/limits.ts';
import { SettledSeconds } from '../kernel/settled-seconds.ts';
import type { DueJournal, Journal } from '../decide/journal.ts';
import { KeyCache } from '../auth/key-cache.ts';
import { KeyUsage } from '../auth/key-usage.ts';
import { LocalAdmission } from '../local/local-admission.ts';
import { createRateMemory } from '../local/rate-window.ts';
import { ReplayGuard } from '../local/replay-guard.ts';
import type { Admission } from '../ports/admission.ts';
import { type Installation, LINKS_PURPOSE } from './installation.ts';
import { createDecisionWriter, type DecisionWriter } from './decision-writer.ts';
import type { Log } from '../observe/log.ts';
import { reconcileRevocations } from '../state/feed/reconcile-revocations.ts';
import { POLICIES_NAME, PolicyArchive } from '../assets/policy-archive.ts';
import { openPolicyFile } from '../assets/policy-file.ts';
import { openJournalAndClock, openMemory } from './recovery.ts';
import { forRoles } from './roles.ts';
import type { OpenPolicies, OpenVelocity } from './service-parts.ts';
import { EXIT_SETTINGS, type Settings } from './settings.ts';
import { StartFault } from './start-fault.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { HistoryStats } from '../ports/decision-history.ts';
import type { Slices } from '../state/tables/turns.ts';
import { ERASURES_PURPOSE, PersonMarker } from '../privacy/person.ts';
import { LIST_VALUES_PURPOSE } from '../risk/lists/list-key.ts';
import { PersonExports } from './person-exports.ts';
import { PrivacyJobs } from './privacy-jobs.ts';
import { AddressShares } from '../observe/address-shares.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { ChangeKind } from '../state/feed/changes.ts';
import { keyPoller } from './maintenance.ts';
import { StoredKeys } from './cells.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { Cluster } from './wire-cluster.ts';

const KEY_CHANGES: ReadonlySet<ChangeKind> = new Set([
  'key.created',
  'key.granted',
  'key.revoked',
  'key.replaced',
  'keys.revoked_again',
  'customer.changed',
]);

/** State of the last run, restored into memory. */
export interface Recovered {
  readonly admission: Admission;
  readonly replay: ReplayGuard;
  /** Memory of the rate windows. */
  readonly rates: SharedArrayBuffer;
  readonly journal: Journal & DueJournal;
  readonly clock: Clock;
  readonly keyCache: KeyCache;
  readonly storedKeys: StoredKeys;
  readonly keyUsage: KeyUsage;
  readonly pollKeys: () => void;
  /** Null on a node that neither decides nor serves the API. */
  readonly policies: OpenPolicies | null;
  readonly velocity: OpenVelocity | null;
  readonly decisions: DecisionLog;
  readonly stats: DecisionStats;
  readonly addresses: AddressShares;
  /** The decisions and the statistics of all nodes. */
  readonly history: DecisionReader;
  readonly historyStats: HistoryStats<Slices>;
  readonly decisionSink: DecisionWriter;
  readonly requests: OpenRequests;
  readonly privacy: PrivacyJobs;
  readonly personExports: PersonExports;
}

/** Restores the state of the last run from the store, the journal and the files of `hot/`. */
export async function recover(
  settings: Settings,
  { store, keyFor }: Installation,
  cluster: Cluster | null,
  log: Log,
): Promise<Recovered> {
  // The virtual clock jumps on purpose, and never back.
  const settled = settings.simulatedTime ? null : new SettledSeconds(REPLAY_HOLD_SECONDS);
  const replay = new ReplayGuard(settings.replayIds, keyFor('replay-hash'), settled);
  const { journal, clock } = openJournalAndClock(settings, replay, store.deliveries.storedUpToSequence(), log);
  const rates = createRateMemory(3);
  const local = new LocalAdmission(replay, journal, rates);
  const admission = cluster?.admission(local) ?? local;
  const revoked = await reconcileRevocations(store, Date.now());
  if (revoked.kind === 'fault') throw new StartFault(revoked.detail);
  if (revoked.value > 0) log.warn({ keys: revoked.value }, 'keys of a restored store were revoked again');
  const keyCache = new KeyCache();
  const storedKeys = new StoredKeys(keyCache);
  const pollKeys = keyPoller(store, storedKeys);
  pollKeys();
  // A changed key counts before the command or the call that changed it gets its response.
  store.changes.onCommitted(({ change }) => {
    if (KEY_CHANGES.has(change.kind)) pollKeys();
  });
  const { roles } = settings;
  const policies = await forRoles(roles, ['decide', 'api'], () => openPolicies(settings, store, clock, log));
  const velocity = forRoles(roles, ['decide', 'api'], () => openMemory(settings, keyFor, clock, cluster, log));
  const retentionOf = retentionByCustomer(policies?.policyArchive ?? null, store);
  const decisions = openDecisionLog(store, { retentionOf });
  const stats = openDecisionStats(store);
  stats.recountFrom(decisions, clock.nowMs());
  const decisionSink = createDecisionWriter(store, decisions, stats, clock, retentionOf);
  return {
    admission,
    rates,
    replay,
    journal,
    clock,
    keyCache,
    storedKeys,
    keyUsage: new KeyUsage(Math.floor(clock.nowMs() / 1000)),
    pollKeys,
    policies,
    velocity,
    decisions,
    stats,
    addresses: new AddressShares(),
    history: cluster?.nodes.history(decisions) ?? decisions,
    historyStats: cluster?.nodes.stats(stats) ?? stats,
    decisionSink,
    ...openPrivacy({ settings, store, decisions, velocity, keyFor, clock, log }),
    requests: openRequestLog(settings, { store, keyFor }, policies?.policyArchive ?? null, clock, log),
  };
}

interface PrivacyParts extends Pick<Installation, 'store' | 'keyFor'> {
  readonly settings: Settings;
  readonly decisions: DecisionLog;
  readonly velocity: OpenVelocity | null;
  readonly clock: Clock;
  readonly log: Log;
}

function openPrivacy({
  settings,
  store,
  decisions,
  velocity,
  keyFor,
  clock,
  log,
}: PrivacyParts): Pick<Recovered, 'privacy' | 'personExports'> {
  const marker = new PersonMarker({
    links: keyFor(LINKS_PURPOSE),
    lists: keyFor(LIST_VALUES_PURPOSE),
    marks: keyFor(ERASURES_PURPOSE),
  });
  const memory = velocity?.memory ?? null;
  const { dataDir } = settings;
  const saveHistory = async (): Promise<void> => {
    // The first one may be a save that had begun before.
    await velocity?.table.save(clock.nowMs());
    await velocity?.table.save(clock.nowMs());
  };
  const finding = { store, decisions, dataDir, keyFor, velocity: memory, marker };
  const nowMs = (): number => clock.nowMs();
  const personExports = new PersonExports(finding, store.changes, nowMs, log);
  const parts = { ...finding, changes: store.changes, saveHistory, exports: personExports };
  return { privacy: new PrivacyJobs(parts, nowMs, log), personExports };
}

function retentionByCustomer(archive: PolicyArchive | null, { customers }: Store): RetentionOf {
  if (archive === null) return defaultRetention;
  // Test keys decide under their customer's policy.
  return policyByCustomer(archive, (customer) => customers.find(liveCustomerOf(customer))?.id ?? '', retentionIn);
}

async function openPolicies(settings: Settings, store: Store, clock: Clock, log: Log): Promise<OpenPolicies> {
  const policyArchive = new PolicyArchive(join(settings.dataDir, POLICIES_NAME), log);
  await policyArchive.read();
  if (settings.policyFile === null) policyArchive.add(null, clock.nowMs());
  const policies = await openPolicyFile({
    file: settings.policyFile,
    pollMs: 1_000,
    log,
    customerNumberOf: (id) => store.customers.findById(id)?.number ?? null,
    rules: readStoredRules(store, log),
    onLoaded: (text, document) => policyArchive.add({ text, document }, clock.nowMs()),
  });
  if (policies.kind === 'faults') throw new StartFault(policies.faults.join('\ngatehouse: '), EXIT_SETTINGS);
  const { policyFile } = policies;
  followRules(store, policyFile, log);
  const trips = new RuleTrips({ store, archive: policyArchive, policyFile, log });
  const { dataDir, modelsDir } = settings;
  const nowMs = (): number => clock.nowMs();
  const modelBreaker = new ModelBreaker({ dataDir, modelsDir, store, archive: policyArchive, policyFile, nowMs, log });
  await modelBreaker.start();
  return { policyFile, policyArchive, trips, modelBreaker };
}
