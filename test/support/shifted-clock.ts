import { writeFileSync } from 'node:fs';

/** Servers whose clock differs from that of the machine. Durations (`performance.now()`) stay right, as after a step of the real clock. */

const FILE = 'TEST_CLOCK_FILE';

/** Loaded before the program, in each of its threads. Looks at the file 50 times a second. */
const PROGRAM = `
import { readFileSync } from 'node:fs';
const path = process.env.${FILE};
if (path !== undefined) {
  let shiftMs = 0;
  const read = () => {
    try {
      shiftMs = Number(readFileSync(path, 'utf8')) || 0;
    } catch {}
  };
  read();
  setInterval(read, 20).unref();
  const RealDate = Date;
  const now = RealDate.now;
  globalThis.Date = class extends RealDate {
    constructor(...parts) {
      if (parts.length === 0) super(now() + shiftMs);
      else super(...parts);
    }
    static now() {
      return now() + shiftMs;
    }
  };
}`;

/** Options of Node.js for a server whose clock can be shifted. */
export const SHIFTABLE = ['--import', `data:text/javascript,${encodeURIComponent(PROGRAM)}`] as const;

/** Settings of a server whose clock this file shifts. */
export function clockEnv(file: string): Readonly<Record<string, string>> {
  return { [FILE]: file };
}

/** Shifts the clock of all servers that use the file, within some 20 ms. */
export function shiftClock(file: string, shiftMs: number): void {
  writeFileSync(file, String(shiftMs));
}
