import { workerData } from 'node:worker_threads';
import { extractionBodies } from '../src/extract/bodies.ts';
import { CONNECTORS } from '../src/extract/connectors/index.ts';
import { managementBodies } from '../src/manage/bodies.ts';
import { type BodyReader, readBody } from '../src/manage/body.ts';
import { yieldToDecisions } from '../src/pools/background.ts';
import type { BodyTask, BodyWorkerData } from '../src/pools/body-messages.ts';
import { createTargetCheck } from '../src/target-check.ts';

/** Parses and checks large request bodies, by the same readers as the main thread. */

yieldToDecisions();
const { egressAllow, recordsMax } = workerData as BodyWorkerData;
let listening: BodyTask['listening'] = [];
const checkTarget = createTargetCheck(egressAllow, () => listening);
const readers: ReadonlyMap<string, BodyReader<unknown>> = new Map(
  [...managementBodies(checkTarget), ...extractionBodies({ connectors: CONNECTORS, checkTarget, recordsMax })].map(
    (reader) => [reader.name, reader],
  ),
);

export default function read(task: BodyTask): unknown {
  const reader = readers.get(task.reader);
  if (reader === undefined) throw new Error(`there is no reader ${task.reader}`);
  ({ listening } = task);
  return readBody(reader, task.body, task.nowMs);
}
