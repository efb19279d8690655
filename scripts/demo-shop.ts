import { parseArgs } from 'node:util';
import { KEPT_POLICY, startServer } from './demo/server.ts';
import { openShop } from './demo/shop.ts';
import { helpIfAsked } from './usage.ts';

/** Serves a small shop with the collector on its pages, and decides in its backend with a temporary Gatehouse. */
helpIfAsked(`
demo:shop [--port <port>]

  --port  of the shop; default 8090, 0 for a free one`);

const USAGE_EXIT = 2;
const DEFAULT_PORT = '8090';

const port = readPort();

/** Aborted by Ctrl-C. */
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());

async function main(): Promise<void> {
  const gatehouse = await startServer({}, KEPT_POLICY);
  try {
    const shop = await openShop(gatehouse, port);
    process.stderr.write(
      `\n  The shop:   ${shop.url}/login.html\n  Gatehouse:  ${gatehouse.url}\n\n  Ctrl-C ends both and deletes their data.\n`,
    );
    await new Promise<void>((resolve) => {
      if (stopped.signal.aborted) resolve();
      stopped.signal.addEventListener('abort', () => resolve());
    });
    await shop.close();
  } finally {
    await gatehouse.stop();
  }
}

function readPort(): number {
  try {
    const { values } = parseArgs({ options: { port: { type: 'string', default: DEFAULT_PORT } } });
    const number = Number(values.port);
    if (/^\d+$/.test(values.port) && number <= 65_535) return number;
  } catch {
    // An unknown option, or a port without a number.
  }
  process.stderr.write('usage: demo:shop [--port <port>]\n');
  process.exit(USAGE_EXIT);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
