import { collectorToken, gatheredAt, gathererOf, NO_SOURCES, NOW_SECONDS, parsed, trafficBodies } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const PER_SAMPLE = 256;

export const gather: Stage = {
  name: 'gather',
  add(tasks) {
    const bodies = trafficBodies(PER_SAMPLE);
    const nowMs = NOW_SECONDS * 1000;
    // Parses the bodies again before each sample: the strings of a real request are never identical objects to the cached ones.
    let requests = new Ring(bodies.map(parsed));
    const again = gathererOf(NO_SOURCES);
    for (const body of bodies) again.gather(parsed(body), gatheredAt(nowMs));
    tasks.add('cached session', {
      perSample: PER_SAMPLE,
      prepare() {
        requests = new Ring(bodies.map(parsed));
      },
      run: (n) => again.gather(requests.at(n), gatheredAt(nowMs)),
      isSane: (gathered) => gathered.facts.token.kind !== 'none',
    });
    const first = gathererOf(NO_SOURCES);
    let serial = 0;
    tasks.add('new collector session', {
      perSample: PER_SAMPLE,
      prepare() {
        requests = new Ring(bodies.map((body) => ({ ...parsed(body), sessionToken: collectorToken(serial++) })));
      },
      run: (n) => first.gather(requests.at(n), gatheredAt(nowMs)),
      isSane: (gathered) => gathered.facts.token.kind === 'collector',
    });
    return {};
  },
};
