import { hash, timingSafeEqual } from 'node:crypto';
import { randomOf } from '../traffic.ts';

/**
 * Fixed work that stages are compared with. It resembles the work of the stages and uses nothing of `src`. It must not change: any change
 * invalidates every baseline.
 */
export interface Kernel {
  /** Performs one unit of work. */
  run(n: number): void;
}

const BODIES = 64;
const SEED = 7;

/** Resembles signature verification: three digests of texts of similar size, a string concatenation and a comparison. */
export function hashingKernel(): Kernel {
  const bodies = textBodies(BODIES).map((text) => Buffer.from(text));
  let last = Buffer.alloc(32);
  return {
    run(n) {
      const digest = hash('sha256', bodies[n % BODIES] ?? '', 'hex');
      const text = `POST\n/v1/path\n${n}\n${digest}\n${n}`;
      const inner = hash('sha256', text, 'buffer');
      const outer = hash('sha256', inner, 'buffer');
      if (timingSafeEqual(outer, last)) throw new Error('two digests are equal');
      last = outer;
    },
  };
}

/** Number of entries that are accessed at random: 32 MiB, more than a processor's cache holds for one process. */
const TABLE_LENGTH = 2 ** 22;
const READS = 24;
const NAMES = 16_384;

/** Resembles scoring a request: parses a body, searches its text, looks up names, reads and writes a large table, serialises a result. */
export function scoringKernel(): Kernel {
  const bodies = textBodies(BODIES).map((text) => Buffer.from(text));
  const table = new Float64Array(TABLE_LENGTH).fill(1);
  const names = new Map(Array.from({ length: NAMES }, (_, n) => [`name-${n}`, n]));
  let at = 1;
  let characters = 0;
  return {
    run(n) {
      const body = JSON.parse(bodies[n % BODIES]?.latin1Slice() ?? '{}') as Record<string, string>;
      for (const value of Object.values(body)) if (/(?:bot|crawl|spider)|\.\.\//i.test(value)) characters++;
      for (let i = 0; i < READS; i++) {
        at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0;
        const index = at & (TABLE_LENGTH - 1);
        table[index] = (table[index] ?? 0) + 1;
      }
      const known = names.get(`name-${at & (2 * NAMES - 1)}`) ?? 0;
      characters += JSON.stringify({ id: `${n}`, known, digest: hash('sha256', `${at}`, 'hex') }).length;
      if (characters < 0) throw new Error('text of negative length');
    },
  };
}

/** Objects with twelve text fields, about 600 bytes each. */
function textBodies(count: number): string[] {
  const random = randomOf(SEED);
  return Array.from({ length: count }, () => {
    const fields = Array.from({ length: 12 }, (_, n) => [`field_${n}`, `${random()} ${random()}`]);
    return JSON.stringify(Object.fromEntries(fields));
  });
}
