import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

/**
 * A small load client for machines without wrk: one request in flight per connection, over raw sockets. Arguments: port, request file,
 * seconds, connections. Prints one line of JSON.
 */
const [port, file, seconds, connections] = process.argv.slice(2);
if (port === undefined || file === undefined) throw new Error('usage: client.js <port> <file> <seconds> <connections>');
const bytes = readFileSync(file);
const endsAtMs = performance.now() + Number(seconds) * 1000;
const startedAtMs = performance.now();
const latencies: number[] = [];
let at = 0;
let failed = 0;

await Promise.all(Array.from({ length: Number(connections) }, runConnection));
const elapsed = (performance.now() - startedAtMs) / 1000;
const sorted = Float64Array.from(latencies).sort();
const percentile = (p: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;
console.log(
  JSON.stringify({
    requests: sorted.length,
    seconds: elapsed,
    failed,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    p999_ms: percentile(0.999),
  }),
);

function next(): Buffer {
  if (at >= bytes.length) at = 0;
  const length = bytes.readUInt32LE(at);
  const from = at + 4;
  at = from + length;
  return bytes.subarray(from, at);
}

function runConnection(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.setNoDelay(true);
    let sentAtMs = 0;
    let answer = '';
    const send = (): void => {
      answer = '';
      sentAtMs = performance.now();
      socket.write(next());
    };
    socket.on('connect', send);
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      const headEnd = answer.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const length = /content-length: (\d+)/i.exec(answer)?.[1];
      if (answer.length < headEnd + 4 + Number(length ?? 0)) return;
      latencies.push(performance.now() - sentAtMs);
      if (!answer.startsWith('HTTP/1.1 2')) failed++;
      if (performance.now() < endsAtMs) send();
      else socket.end();
    });
    socket.on('error', () => failed++);
    socket.on('close', () => resolve());
  });
}
