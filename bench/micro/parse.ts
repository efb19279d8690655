import { isAscii } from 'node:buffer';
import { parseDecideRequest } from '../../src/risk/decide-request.ts';
import { JSON_DEPTH_MAX } from '../../src/kernel/limits.ts';
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
      // The difference between this row and the one above is the cost of the scan and of reading the fields.
      tasks.add(`${bytes} bytes, JSON.parse only`, {
        perSample: 128,
        run: () => (isAscii(body) ? (JSON.parse(body.toString('latin1')) as unknown) : null),
        isSane: (value) => value !== null,
      });
    }
    // A body that nests too deeply, which is detected only after the whole body was scanned; creating the error response is cheap.
    const deep = sharedCopy(Buffer.concat([Buffer.from('['.repeat(DEEP)), smallBody(400 - DEEP)]));
    tasks.add('400 bytes, scan and rejection only', {
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
