/**
 * The folders of the source and what each may import: the one source of the check in test/unit/structure.test.ts and of the tables in
 * docs/architecture.md, which `npm run write:structure` writes.
 */

export interface Room {
  readonly holds: string;
  /** Other rooms that it may import. */
  readonly mayImport: readonly RoomName[];
  /** `hot`: on the path of every decide request. Hot rooms never import cold ones. */
  readonly path: 'hot' | 'cold' | 'either';
}

export type RoomName =
  | 'kernel'
  | 'contract'
  | 'client'
  | 'web'
  | 'http'
  | 'risk'
  | 'ports'
  | 'local'
  | 'work'
  | 'egress'
  | 'velocity'
  | 'assets'
  | 'data'
  | 'frames'
  | 'state'
  | 'history'
  | 'cluster'
  | 'auth'
  | 'observe'
  | 'score'
  | 'decide'
  | 'replay'
  | 'learn'
  | 'webhooks'
  | 'extract'
  | 'privacy'
  | 'api'
  | 'app'
  | 'cli';

/** Rooms of `src`, from the ground up. */
export const ROOMS: Readonly<Record<RoomName, Room>> = {
  kernel: {
    holds: 'Shared building blocks: clock, ids, brands, bounded caches, limits, the table of programs',
    mayImport: [],
    path: 'hot',
  },
  client: {
    holds: 'The client of applications with its middleware, the command line’s own, verifiers for webhooks',
    mayImport: [],
    path: 'cold',
  },
  contract: {
    holds:
      'Every endpoint, wire shape and problem; the source of the OpenAPI document and of the tables in docs/api.md',
    mayImport: ['kernel'],
    path: 'either',
  },
  web: {
    holds: 'What browsers run, bundled into dist/web: the collector and the dashboard; nothing of Node.js',
    mayImport: ['contract'],
    path: 'cold',
  },
  risk: {
    holds: 'Facts, signals, rules, policy, fusing: no I/O, no clock, no randomness',
    mayImport: ['contract', 'kernel'],
    path: 'hot',
  },
  ports: {
    holds: 'What a single machine and a cluster implement differently: types only',
    mayImport: ['kernel', 'risk'],
    path: 'either',
  },
  local: {
    holds: 'Adapters of ports for a single node: admission, in memory; the velocity store has its own room',
    mayImport: ['kernel', 'ports'],
    path: 'hot',
  },
  http: {
    holds: 'Both transports, header validation, router, responses',
    mayImport: ['contract', 'kernel'],
    path: 'hot',
  },
  work: {
    holds: 'States of extraction jobs, webhooks and deliveries, and when they are retried: no I/O, no clock',
    mayImport: ['contract', 'kernel', 'risk'],
    path: 'either',
  },
  velocity: {
    holds: 'The velocity store of sessions, addresses, entities and devices; its snapshots',
    mayImport: ['kernel', 'ports', 'risk'],
    path: 'hot',
  },
  assets: {
    holds: 'Files that are watched, validated and swapped while the server runs: GeoIP, model, policy',
    mayImport: ['kernel', 'risk'],
    path: 'hot',
  },
  data: {
    holds: 'Data feeds: what others publish about networks, checked and compiled into a database',
    mayImport: ['assets', 'egress', 'kernel', 'risk'],
    path: 'cold',
  },
  egress: { holds: 'The guarded client for every outgoing request', mayImport: ['kernel', 'work'], path: 'either' },
  auth: {
    holds: 'Key cache, signatures, authentication of requests, dashboard sessions',
    mayImport: ['contract', 'http', 'kernel'],
    path: 'hot',
  },
  frames: {
    holds: 'Batches in shared memory and the pool of score workers',
    mayImport: ['assets', 'kernel', 'velocity'],
    path: 'hot',
  },
  state: {
    holds: 'LMDB, one file for each table; changes and how they are applied; backup and integrity check',
    mayImport: ['kernel', 'ports', 'risk', 'work'],
    path: 'either',
  },
  history: {
    holds: 'The decision log with its index of links, statistics, blocks',
    mayImport: ['kernel', 'ports', 'risk', 'state'],
    path: 'either',
  },
  cluster: {
    holds:
      'Adapters of ports for several nodes, over Valkey or Redis: the link, its functions, membership, changes, peers',
    mayImport: ['history', 'kernel', 'ports', 'risk', 'state', 'velocity', 'work'],
    path: 'either',
  },
  observe: { holds: 'Log and metrics', mayImport: ['frames', 'kernel', 'risk'], path: 'either' },
  score: {
    holds: 'Scoring a batch, in a score worker or, if it is small, on the main thread',
    mayImport: ['assets', 'contract', 'frames', 'kernel', 'ports', 'risk', 'state'],
    path: 'hot',
  },
  decide: {
    holds: 'The path of a decide request on the main thread: queue, batches, journal, response',
    mayImport: ['auth', 'contract', 'frames', 'http', 'kernel', 'ports', 'risk'],
    path: 'hot',
  },
  replay: {
    holds: 'Decisions made again, or for the first time, on recorded events: tests of policies, evaluation, backtest',
    mayImport: ['assets', 'frames', 'history', 'kernel', 'risk', 'score', 'state', 'velocity'],
    path: 'cold',
  },
  learn: {
    holds: 'Training a forest on stored feature rows and their labels, and writing it as a file',
    mayImport: ['kernel', 'risk'],
    path: 'cold',
  },
  webhooks: {
    holds: 'Webhooks: fan-out, queues, attempts, health',
    mayImport: ['assets', 'frames', 'kernel', 'observe', 'ports', 'risk', 'state', 'work'],
    path: 'cold',
  },
  extract: {
    holds: 'Extraction: jobs, fetching, readers, connectors, results, sinks',
    mayImport: ['assets', 'contract', 'egress', 'kernel', 'observe', 'ports', 'state', 'work'],
    path: 'cold',
  },
  privacy: {
    holds: 'Erasing and exporting a person: marks, one finder and eraser for each place that holds people',
    mayImport: ['history', 'kernel', 'risk', 'state', 'velocity'],
    path: 'cold',
  },
  api: {
    holds: 'Handlers of all endpoints except decide, one file for each resource; `kit` has what they share',
    mayImport: [
      'assets',
      'auth',
      'contract',
      'decide',
      'extract',
      'history',
      'http',
      'kernel',
      'learn',
      'observe',
      'ports',
      'risk',
      'state',
      'work',
    ],
    path: 'cold',
  },
  app: {
    holds: 'Settings, wiring by role, recovery, maintenance, start and stop',
    mayImport: [
      'api',
      'assets',
      'auth',
      'cluster',
      'contract',
      'data',
      'decide',
      'egress',
      'extract',
      'frames',
      'history',
      'http',
      'kernel',
      'local',
      'observe',
      'ports',
      'privacy',
      'replay',
      'risk',
      'score',
      'state',
      'velocity',
      'webhooks',
    ],
    path: 'cold',
  },
  cli: {
    holds: 'The command line',
    mayImport: [
      'app',
      'assets',
      'client',
      'cluster',
      'contract',
      'data',
      'egress',
      'extract',
      'history',
      'http',
      'kernel',
      'learn',
      'replay',
      'risk',
      'state',
      'webhooks',
      'work',
    ],
    path: 'cold',
  },
};

/** Folders beside `src` and the rooms and folders that they may import. */
export const OUTSIDE: Readonly<Record<'workers' | 'scripts' | 'bench', readonly string[]>> = {
  workers: [
    'api',
    'app',
    'cluster',
    'egress',
    'extract',
    'frames',
    'http',
    'kernel',
    'score',
    'state',
    'velocity',
    'webhooks',
  ],
  scripts: ['client', 'contract', 'data', 'kernel', 'risk'],
  bench: [
    'api',
    'assets',
    'auth',
    'client',
    'cluster',
    'decide',
    'frames',
    'history',
    'http',
    'kernel',
    'learn',
    'local',
    'observe',
    'ports',
    'replay',
    'risk',
    'score',
    'scripts',
    'state',
    'velocity',
    'webhooks',
    'work',
  ],
};

/** Returns the rooms by floor: each room stands one floor above the highest that it may import. */
export function floorsOf(rooms: Readonly<Record<string, Pick<Room, 'mayImport'>>>): readonly (readonly string[])[] {
  const floors: string[][] = [];
  const known = new Map<string, number>();
  const floorOf = (name: string): number => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const floor = Math.max(-1, ...(rooms[name]?.mayImport ?? []).map(floorOf)) + 1;
    known.set(name, floor);
    return floor;
  };
  for (const name of Object.keys(rooms)) {
    const floor = floorOf(name);
    while (floors.length <= floor) floors.push([]);
    floors[floor]?.push(name);
  }
  return floors;
}

/** Matches `<!-- rooms: table -->`, anything, and `<!-- /rooms -->`. */
const BLOCK = /(<!-- rooms: (\w+) -->\n)[^]*?(<!-- \/rooms -->)/g;

const FORMS: Readonly<Record<string, () => readonly string[]>> = {
  table: () => [
    '| Folder | Content | May import |',
    '| --- | --- | --- |',
    ...Object.entries(ROOMS).map(
      ([name, { holds, mayImport }]) => `| \`src/${name}\` | ${holds} | ${mayImport.join(', ') || 'nothing'} |`,
    ),
    ...Object.entries(OUTSIDE).map(
      ([name, mayImport]) => `| \`${name}\` | ${OUTSIDE_HOLDS[name]} | ${mayImport.join(', ')} |`,
    ),
  ],
  floors: () => [
    '```text',
    ...floorsOf(ROOMS)
      .map((names, floor) => `${floor}  ${names.join('  ')}`)
      .toReversed(),
    '```',
  ],
};

const OUTSIDE_HOLDS: Readonly<Record<string, string>> = {
  workers: 'Entry points of the threads',
  scripts: 'Demo, generated traffic and tools',
  bench: 'Benchmarks and load generators',
};

/** Returns a page with its tables of rooms generated and everything else unchanged. The tables are not aligned. */
export function withRooms(markdown: string): string {
  return markdown.replaceAll(BLOCK, (_block, start: string, form: string, end: string) => {
    const lines = FORMS[form];
    if (lines === undefined) throw new Error(`there is no form ${form} of the table of rooms`);
    return [start, ...lines(), '', end].join('\n');
  });
}
