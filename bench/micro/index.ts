import { admission } from './admission.ts';
import { agent } from './agent.ts';
import { answerText } from './answer-text.ts';
import { buffers } from './buffers.ts';
import { decisionLog } from './decision-log.ts';
import { empty } from './empty.ts';
import { engine } from './engine.ts';
import { frame } from './frame.ts';
import { fuse } from './fuse.ts';
import { gate } from './gate.ts';
import { gather } from './gather.ts';
import { geo } from './geo.ts';
import { ids } from './ids.ts';
import { journal } from './journal.ts';
import { keyedHash } from './keyed-hash.ts';
import { keyCache } from './keyring.ts';
import { lmdb } from './lmdb.ts';
import { metrics } from './metrics.ts';
import { parse } from './parse.ts';
import { poolHop } from './pool-hop.ts';
import { ranges } from './ranges.ts';
import { rates } from './rates.ts';
import { replay } from './replay.ts';
import { rules } from './rules.ts';
import type { Stage } from './stage.ts';
import { stats } from './stats.ts';
import { token } from './token.ts';
import { velocity } from './velocity.ts';
import { velocityExchange } from './velocity-exchange.ts';
import { verify } from './verify.ts';

/** All stages that run without built workers, in the order in which a request passes them: main thread, worker, main thread. */
export const STAGES: readonly Stage[] = [
  empty,
  gate,
  verify,
  keyCache,
  keyedHash,
  replay,
  journal,
  decisionLog,
  stats,
  rates,
  admission,
  frame,
  buffers,
  parse,
  token,
  agent,
  gather,
  lmdb,
  geo,
  ranges,
  velocity,
  velocityExchange,
  rules,
  fuse,
  ids,
  answerText,
  engine,
  metrics,
];

/** Includes the stages that need built workers. */
export const ALL_STAGES: readonly Stage[] = [...STAGES, poolHop];
