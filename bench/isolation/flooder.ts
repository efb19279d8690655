import { Agent } from 'node:http';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { constants, setPriority } from 'node:os';
import { callSteadily } from '../webhooks/caller.ts';
import type { Call } from './calls.ts';
import { callOnce } from './call-once.ts';
import type { Flood } from './floods.ts';

/**
 * Does what one flood says for some seconds, in a process of its own. Arguments: port, JSON file with the key, the calls and the flood's
 * figures, seconds. Prints the number of responses by status, and of failures as 0.
 */
interface Order extends Pick<Flood, 'kind' | 'atOnce' | 'perSecond'> {
  readonly key: string;
  readonly calls: readonly [Call, ...Call[]];
}

// Attackers send from machines of their own: this one gets the processor time that the servers and the measuring client leave over.
setPriority(constants.priority.PRIORITY_LOW);

const [portText, file, secondsText] = process.argv.slice(2);
const port = Number(portText);
const seconds = Number(secondsText);
const { key, calls, kind, atOnce, perSecond } = JSON.parse(readFileSync(file ?? '', 'utf8')) as Order;
const counts = new Map<number, number>();
const count = (status: number): void => void counts.set(status, (counts.get(status) ?? 0) + 1);
const callAt = (n: number): Call => calls[n % calls.length] ?? calls[0];

async function repeat(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const running = new Set<Promise<void>>();
  const startMs = performance.now();
  let begun = 0;
  for (;;) {
    const nowMs = performance.now() - startMs;
    if (nowMs >= seconds * 1_000) break;
    const due = Math.floor((nowMs * perSecond) / 1_000);
    for (; begun < due && running.size < atOnce; begun++) {
      const run = callOnce(port, key, callAt(begun), agent)
        .then(
          ({ status }) => count(status),
          () => count(0),
        )
        .finally(() => running.delete(run));
      running.add(run);
    }
    // Skips calls that could not start in time.
    begun = Math.max(begun, due - atOnce);
    await new Promise((done) => setTimeout(done, 1));
  }
  agent.destroy();
}

/** Opens connections that read a byte a second; one that is closed is opened again. */
async function readSlowly(): Promise<void> {
  let isOver = false;
  const open = (): void => {
    const { method, path } = callAt(0);
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    const timer = setInterval(() => {
      if (socket.read(1) !== null) count(200);
    }, 1_000);
    socket.on('error', () => count(0));
    socket.on('close', () => {
      clearInterval(timer);
      if (!isOver) setTimeout(open, 100);
    });
  };
  for (let n = 0; n < atOnce; n++) open();
  await new Promise((done) => setTimeout(done, seconds * 1_000));
  isOver = true;
}

/** Choice: some pieces a connection and second, each far smaller than a packet. */
const DRIP_MS = 50;
const DRIP = 'x'.repeat(512);

/** Opens connections that send a body piece by piece, or header fields without an end; one that is closed is opened again. */
async function sendSlowly(): Promise<void> {
  let isOver = false;
  const open = (n: number): void => {
    const { method, path, body } = callAt(n);
    const socket = connect(port, '127.0.0.1');
    const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
    const rest = `Content-Type: application/json\r\nContent-Length: ${body?.length ?? 0}\r\n\r\n`;
    socket.write(body === undefined ? head : head + rest);
    let sent = 0;
    const timer = setInterval(() => {
      socket.write(body === undefined ? `X-N${sent}: x\r\n` : DRIP);
      sent++;
    }, DRIP_MS);
    socket.on('data', (bytes: Buffer) => count(Number(bytes.toString('latin1', 9, 12))));
    socket.on('error', () => count(0));
    socket.on('close', () => {
      clearInterval(timer);
      if (!isOver) setTimeout(() => open(n), 100);
    });
  };
  for (let n = 0; n < atOnce; n++) open(n);
  await new Promise((done) => setTimeout(done, seconds * 1_000));
  isOver = true;
}

const callOf = (n: number): { key: string; body: string } => ({ key, body: callAt(n).body ?? '' });

async function decide(): Promise<void> {
  for (const _ of await callSteadily({ port, perSecond, seconds, callOf })) count(200);
}

if (kind === 'readers') await readSlowly();
else if (kind === 'senders') await sendSlowly();
else if (kind === 'decisions') await decide();
else await repeat();
console.log(JSON.stringify(Object.fromEntries(counts)));
process.exit(0);
