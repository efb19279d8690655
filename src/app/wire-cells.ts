import type { Assets } from '../assets/assets.ts';
import type { PolicyFile } from '../assets/policy-file.ts';
import type { LookUpMemory } from '../kernel/look-up-memory.ts';
import type { ScoreWorkerData } from '../frames/score-messages.ts';
import { LIST_VALUES_PURPOSE } from '../risk/lists/list-key.ts';
import type { VelocityMemory } from '../velocity/memory.ts';
import { Cells } from './cells.ts';
import { GRANTS_PURPOSE, type Installation, LINKS_PURPOSE, REQUESTS_PURPOSE } from './installation.ts';
import type { Listener } from './open-listener.ts';
import type { Recovered } from './recovered-state.ts';
import { cellJournalFolder } from './recovery.ts';
import type { Deciding } from './service-parts.ts';
import type { Service } from './service.ts';
import type { Settings } from './settings.ts';

interface OpenedBeforeCells {
  readonly settings: Settings;
  readonly listener: Listener;
  readonly installation: Installation;
  readonly recovered: Recovered;
  readonly deciding: Deciding | null;
  readonly service: Pick<Service, 'decideObserver'>;
  readonly cellWords: readonly Int32Array<SharedArrayBuffer>[];
}

/** Returns what every thread that scores is opened with. */
export function scoreData(
  dataDir: string,
  keyFor: Installation['keyFor'],
  layers: Assets,
  policyFile: PolicyFile,
  velocity: VelocityMemory,
  lookUps: LookUpMemory | null,
): Omit<ScoreWorkerData, 'frames' | 'exchange'> {
  const keys = {
    links: keyFor(LINKS_PURPOSE),
    requests: keyFor(REQUESTS_PURPOSE),
    grants: keyFor(GRANTS_PURPOSE),
    lists: keyFor(LIST_VALUES_PURPOSE),
  };
  return { dataDir, layers: layers.initial(), policies: policyFile.initial(), velocity, keys, lookUps };
}

/** Lets the threads that serve HTTP decide; null if there are none, or on a node that does not decide. */
export function openCells({
  settings,
  listener: { transport },
  installation: { store, keyFor },
  recovered: { replay, rates, storedKeys, velocity, policies, requests, decisionSink },
  deciding,
  service: { decideObserver: observer },
  cellWords,
}: OpenedBeforeCells): Cells | null {
  if (transport.lead === undefined || deciding === null || observer === null) return null;
  if (velocity === null || policies === null) return null;
  const { dataDir, replayIds: idsMax, warmUp } = settings;
  const data = {
    ...scoreData(
      dataDir,
      keyFor,
      deciding.layers,
      policies.policyFile,
      velocity.memory,
      deciding.lookUps?.memory ?? null,
    ),
    replay: { idsMax, hashKey: keyFor('replay-hash'), memory: replay.memory },
    rates,
    warmUp,
  };
  return new Cells({
    transport,
    data: cellWords.map(({ buffer: recorded }, cell) => {
      return { ...data, recorded, journalFolder: cellJournalFolder(dataDir, cell) };
    }),
    store,
    keys: storedKeys,
    wantsRequests: (customer) => requests.requestLog.wants(customer),
    decisionSink,
    observer,
  });
}
