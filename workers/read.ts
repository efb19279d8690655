import { workerData } from 'node:worker_threads';
import { extractionBodies } from '../src/api/extractions/extraction-bodies.ts';
import { CONNECTORS } from '../src/extract/connectors/connector-table.ts';
import { managementBodies } from '../src/api/kit/body-readers.ts';
import { type BodyReader, readBody } from '../src/api/kit/request-body.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import type { BodyTask, BodyWorkerData } from '../src/api/kit/body-messages.ts';
import { createTargetCheck } from '../src/app/target-check.ts';

/** Parses and checks large request bodies, by the same readers as the main thread. */

yieldToDecisions();
const { egressAllow } = workerData as BodyWorkerData;
let listening: BodyTask['listening'] = [];
const checkTarget = createTargetCheck(egressAllow, () => listening);
const readers: ReadonlyMap<string, BodyReader<unknown>> = new Map(
  [...managementBodies(checkTarget), ...extractionBodies({ connectors: CONNECTORS, checkTarget })].map((reader) => [
    reader.name,
    reader,
  ]),
);

export default function read(task: BodyTask): unknown {
  const reader = readers.get(task.reader);
  if (reader === undefined) throw new Error(`there is no reader ${task.reader}`);
  ({ listening } = task);
  return readBody(reader, task.body, task.nowMs);
}
