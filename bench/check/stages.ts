import { latency } from './latency.ts';
import { nodeServers, servers } from './servers.ts';
import type { Probe, Stage } from './stage.ts';
import { work } from './work.ts';

export const PROBES: readonly Probe[] = [work, servers, nodeServers, latency];

export const STAGES: readonly Stage[] = PROBES.flatMap(({ stages }) => stages);
