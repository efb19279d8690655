import { decideProbe } from './decide.ts';
import { extraction } from './extraction.ts';
import { micro } from './micro.ts';
import { openLoop } from './open-loop.ts';
import type { Probe, Stage } from './stage.ts';
import { webhooks } from './webhooks.ts';

/** In measuring order: the fastest and most informative probes come first. */
export const PROBES: readonly Probe[] = [
  micro,
  decideProbe('uws'),
  decideProbe('node'),
  openLoop,
  webhooks,
  extraction,
];

export const STAGES: readonly Stage[] = PROBES.flatMap(({ stages }) => stages);
