import type { MessagePort } from 'node:worker_threads';
import type { ListeningAddress } from '../../egress/public-address.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { LiveNode } from '../../state/tables/shared-jobs.ts';
import type { ExtractionId } from '../../work/extraction-job.ts';
import type { Delivery, DeliveryId } from '../../work/webhook.ts';
import type { DomainLimits } from './domain-limits.ts';
import type { ExtractWorkerData } from '../base/extract-messages.ts';
import type { JobEngineState } from './job-engine.ts';
import type { NewExtraction, NewSession } from '../base/jobs-port.ts';
import type { SchedulerBounds } from './scheduler.ts';

/** Messages between the main thread and the extraction thread, which owns the environment `extract/`. */

export interface EngineThreadData {
  readonly dataDir: string;
  readonly encryptionKey: Uint8Array;
  readonly worker: ExtractWorkerData;
  readonly polite: DomainLimits;
  readonly bounds: Partial<SchedulerBounds>;
  /** False: jobs are stored, and wait until a server runs them. */
  readonly runsJobs: boolean;
  /** The cluster whose jobs the thread shares; null or absent on a single node. */
  readonly cluster?: EngineCluster | null;
}

/** The extraction thread's own way to the store that all nodes share. */
export interface EngineCluster {
  readonly urls: readonly string[];
  readonly user: string | null;
  readonly password: string | null;
  readonly node: string;
  /** Encrypts what the shared store holds. */
  readonly key: Uint8Array;
}

export interface EngineThreadTask {
  readonly port: MessagePort;
}

/** To the extraction thread. */
export type EngineOrder =
  | { readonly kind: 'call'; readonly call: number; readonly write: EngineWrite }
  | { readonly kind: 'listening'; readonly addresses: readonly ListeningAddress[] }
  /** The live nodes of a cluster. */
  | { readonly kind: 'nodes'; readonly nodes: readonly LiveNode[] }
  /** Result of a `RowCall`. */
  | { readonly kind: 'returned'; readonly call: number; readonly value: unknown }
  /** A `RowCall` that failed in the store. */
  | { readonly kind: 'failed'; readonly call: number; readonly detail: string }
  | { readonly kind: 'stop' };

/** A method of `JobWrites` with its arguments. The result has the method's type. */
export type EngineWrite =
  | { readonly kind: 'create'; readonly job: NewExtraction }
  | { readonly kind: 'cancel'; readonly customer: CustomerNumber; readonly id: ExtractionId }
  | { readonly kind: 'create_session'; readonly session: NewSession }
  | { readonly kind: 'remove_session'; readonly customer: CustomerNumber; readonly id: string }
  /** Resolves when reads see what other nodes of the cluster had written before. */
  | { readonly kind: 'catch_up' };

/** From the extraction thread. */
export type EngineSignal =
  /** The store is open and the jobs of the previous run have been resumed. */
  | { readonly kind: 'ready' }
  /** Result of a `call`. */
  | { readonly kind: 'returned'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'state'; readonly state: JobEngineState }
  | { readonly kind: 'ended'; readonly id: ExtractionId }
  | { readonly kind: 'row'; readonly call: number; readonly row: RowCall }
  | { readonly kind: 'forget'; readonly id: ExtractionId }
  | {
      readonly kind: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    }
  | { readonly kind: 'fault'; readonly fault: StoreFault }
  /** Nothing follows. The receiver closes the port. */
  | { readonly kind: 'stopped' };

/** A method of `DeliveryLog` that has a result, with its arguments. */
export type RowCall =
  | { readonly kind: 'find'; readonly customer: CustomerNumber; readonly id: DeliveryId }
  | { readonly kind: 'add'; readonly row: Delivery }
  | { readonly kind: 'ended'; readonly customer: CustomerNumber; readonly id: DeliveryId };
