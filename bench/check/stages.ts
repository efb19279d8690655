import { servers } from './servers.ts';
import type { Probe, Stage } from './stage.ts';
import { work } from './work.ts';

export const PROBES: readonly Probe[] = [work, servers];

export const STAGES: readonly Stage[] = PROBES.flatMap(({ stages }) => stages);
