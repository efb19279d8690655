import type { PersonExportQueue, PrivacyQueue } from '../api/privacy-port.ts';
import type { Clock } from '../kernel/clock.ts';
import type { KeyCache } from '../auth/key-cache.ts';
import type { KeyUsage } from '../auth/key-usage.ts';
import type { Journal } from '../decide/journal.ts';
import type { ReplayGuard } from '../local/replay-guard.ts';
import type { Admission } from '../ports/admission.ts';
import type { Assets } from '../assets/assets.ts';
import type { ScorePool } from '../frames/score-pool.ts';
import type { PolicyArchive } from '../assets/policy-archive.ts';
import type { PolicyFile } from '../assets/policy-file.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { HistoryStats } from '../ports/decision-history.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { AddressShares } from '../observe/address-shares.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { Log } from '../observe/log.ts';
import type { OutcomeMemory } from '../ports/velocity.ts';
import type { ExchangeSeed, VelocityMemory } from '../velocity/memory.ts';
import type { TableMaintenance } from '../velocity/table-thread.ts';
import type { ClusterDeliveries } from '../cluster/reads/cluster-deliveries.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import type { AutomaticBackups } from './automatic-backups.ts';
import type { DataFeeds } from './data-feeds.ts';
import type { DecisionWriter } from './decision-writer.ts';
import type { Installation } from './installation.ts';
import type { Listener } from './open-listener.ts';
import type { ModelBreaker } from './model-breaker.ts';
import type { RuleTrips } from './rule-trips.ts';
import type { Settings } from './settings.ts';
import type { Cluster } from './wire-cluster.ts';
import type { OpenLookUps } from './wire-look-ups.ts';
import type { DashboardState } from './dashboard-state.ts';
import type { OpenExtractions } from './wire-extractions.ts';
import type { OpenRequests } from './wire-requests.ts';
import type { SharedWork } from './wire-work.ts';

/** What only a node that decides has: the files that scoring uses, and the threads that score. */
export interface Deciding {
  readonly layers: Assets;
  readonly policyFile: PolicyFile;
  readonly pool: ScorePool;
  /** Null while they are off. */
  readonly lookUps: OpenLookUps | null;
}

/** The policies of a node that decides or shows what was decided. */
export interface OpenPolicies {
  readonly policyFile: PolicyFile;
  readonly policyArchive: PolicyArchive;
  readonly trips: RuleTrips;
  readonly modelBreaker: ModelBreaker;
}

/** The velocity store of a node that decides or shows what was decided. */
export interface OpenVelocity {
  readonly memory: VelocityMemory;
  readonly table: TableMaintenance;
  /** Null on a node that works alone. */
  readonly exchange: ExchangeSeed | null;
  /** The main thread's instance. */
  readonly outcomes: OutcomeMemory;
  /** Sends the outcomes that other nodes have not got yet. */
  close(): Promise<void>;
}

/** What a start has opened when it wires the request handlers. Null: no role of this node uses it. */
export interface ServiceParts {
  readonly settings: Settings;
  readonly installation: Installation;
  /** Null on a node that works alone. */
  readonly cluster: Pick<Cluster, 'status' | 'readings' | 'countRefused' | 'isClosed' | 'nodes'> | null;
  readonly listener: Listener;
  /** The dashboard's own listener; null if the service's listener serves it. */
  readonly dashboardListener: Listener | null;
  /** Null if the dashboard is off. */
  readonly dashboard: DashboardState | null;
  readonly admission: Admission;
  readonly replay: Pick<ReplayGuard, 'size'>;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly keyCache: KeyCache;
  readonly keyUsage: KeyUsage;
  readonly policies: OpenPolicies | null;
  readonly velocity: OpenVelocity | null;
  readonly deciding: Deciding | null;
  /** This node's own. */
  readonly decisions: DecisionLog;
  readonly stats: DecisionStats;
  readonly addresses: AddressShares;
  /** Those of all nodes, for the API. */
  readonly history: DecisionReader;
  readonly historyStats: HistoryStats<Slices>;
  readonly decisionSink: DecisionWriter;
  readonly requests: OpenRequests;
  readonly privacy: PrivacyQueue;
  readonly personExports: PersonExportQueue;
  readonly dispatcher: Dispatcher;
  readonly extractions: OpenExtractions;
  /** What nodes share of deliveries and jobs; null on a node that works alone. */
  readonly work: Pick<SharedWork, 'mirror' | 'readings'> | null;
  /** The deliveries of all nodes; null on a node that works alone. */
  readonly allDeliveries: ClusterDeliveries | null;
  readonly version: string;
  readonly backups: Pick<AutomaticBackups, 'status' | 'readings'>;
  readonly feeds: DataFeeds;
  /** One word for each cell: how many of its decisions are recorded. */
  readonly cellWords: readonly Int32Array<SharedArrayBuffer>[];
  readonly log: Log;
}
