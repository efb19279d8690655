import { isAscii } from 'node:buffer';
import { parseDecideRequest } from '../../src/core/decide-request.ts';
import { JSON_DEPTH_MAX } from '../../src/limits.ts';
import { largeBody, sharedCopy, smallBody, trafficBodies } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const DEEP = JSON_DEPTH_MAX + 1;

export const parse: Stage = {
  name: 'parse',
  add(tasks) {
    for (const [bytes, body] of [
      [400, sharedCopy(smallBody(400))],
      [900, sharedCopy(largeBody(900))],
    ] as const) {
      if (body.length !== bytes) throw new Error(`a body of ${body.length} bytes`);
      tasks.add(`${bytes} bytes`, {
        perSample: 128,
        run: () => parseDecideRequest(body),
        isSane: (outcome) => outcome.kind === 'request' && outcome.request.sessionToken !== '',
      });
      // What is left of the row above without this one: the scan and the reading of fields.
      tasks.add(`${bytes} bytes, JSON.parse alone`, {
        perSample: 128,
        run: () => (isAscii(body) ? (JSON.parse(body.toString('latin1')) as unknown) : null),
        isSane: (value) => value !== null,
      });
    }
    // Nests too deep, which is told only after the whole body was scanned; the refusal itself is one small object.
    const deep = sharedCopy(Buffer.concat([Buffer.from('['.repeat(DEEP)), smallBody(400 - DEEP)]));
    tasks.add('400 bytes, scan and refusal alone', {
      perSample: 128,
      run: () => parseDecideRequest(deep),
      isSane: (outcome) => outcome.kind === 'fault' && outcome.problem.detail.includes('nests deeper'),
    });
    const bodies = new Ring(trafficBodies(256).map(sharedCopy));
    tasks.add('traffic', {
      perSample: 256,
      run: (n) => parseDecideRequest(bodies.at(n)),
      isSane: (outcome) => outcome.kind === 'request',
    });
    return {};
  },
};
