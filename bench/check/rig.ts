import { type ChildProcess, execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { untilReady } from '../open-loop/targets.ts';
import { Children, end, lineOf } from '../webhooks/children.ts';
import { Receiver } from '../webhooks/receiver-client.ts';
import { type Build, serverProgramOf } from './build.ts';
import { ClosedLoopClient } from './closed-loop.ts';

/** A server of one of the builds. */
export interface RunningServer {
  readonly origin: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Secret keys of two customers: only the second one gets webhooks. */
  readonly keys: ServerKeys;
}

interface ServerKeys {
  readonly plain: string;
  readonly withWebhooks: string;
}

interface Template {
  readonly folder: string;
  readonly keys: ServerKeys;
}

/** Pages of the site that a crawl reads. Choice: a slice of about a tenth of a second. */
export const SITE_PAGES = 60;
const SITE_PARAGRAPHS = 8;
const CRAWL_CONCURRENCY = 16;
/** Choice: exceeds every load of the check. */
const RATE_LIMIT = '1000000000';

/** What all laps share: the client, the receiver, the site and a data directory of each build, from which servers start. */
export class Rig {
  readonly client = new ClosedLoopClient();
  readonly #children = new Children();
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-'));
  readonly #templates = new Map<string, Promise<Template>>();
  #receiver: Promise<Receiver> | null = null;
  #site: Promise<string> | null = null;
  #serial = 0;

  /** The receiver of all webhooks. */
  receiver(): Promise<Receiver> {
    return (this.#receiver ??= Receiver.start(this.#children));
  }

  /** Origin of the site that extraction crawls. */
  site(): Promise<string> {
    return (this.#site ??= this.#startSite());
  }

  /** Starts a server of a build on a new data directory and waits until it is ready. */
  async startServer(
    build: Build,
    transport: string,
    { nodeFlags = [], cells = 1 }: { readonly nodeFlags?: readonly string[]; readonly cells?: number } = {},
  ): Promise<RunningServer> {
    const { folder, keys } = await this.#templateOf(build);
    const dataDir = join(this.#folder, `data-${++this.#serial}`);
    cpSync(folder, dataDir, { recursive: true });
    const env = {
      GATEHOUSE_TRANSPORT: transport,
      GATEHOUSE_VELOCITY_MB: '64',
      ...(cells > 1 && { GATEHOUSE_CELLS: String(cells) }),
      // Reading the databases takes a third of a start. The stage `engine` looks addresses up in them.
      GATEHOUSE_GEOIP_PACKAGES: '0',
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
      GATEHOUSE_EXTRACT_HOST_CONCURRENCY: String(CRAWL_CONCURRENCY),
    };
    const { port, child } = await this.#children.serve(dataDir, nodeFlags, env, serverProgramOf(build));
    const origin = `http://127.0.0.1:${port}`;
    await untilReady(origin);
    return { origin, port, child, keys };
  }

  async close(): Promise<void> {
    this.client.close();
    await this.#children.endAll();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Each build creates its own, because the format of a data directory may differ. */
  #templateOf(build: Build): Promise<Template> {
    const known = this.#templates.get(build.root);
    if (known !== undefined) return known;
    const template = makeTemplate(build, join(this.#folder, `template-${this.#templates.size}`));
    this.#templates.set(build.root, template);
    return template;
  }

  async #startSite(): Promise<string> {
    const site = this.#children.spawn(
      new URL('../extract/site.js', import.meta.url),
      String(SITE_PAGES),
      String(SITE_PARAGRAPHS),
    );
    return `http://127.0.0.1:${await lineOf(site, () => true)}`;
  }
}

async function makeTemplate(build: Build, folder: string): Promise<Template> {
  mkdirSync(folder);
  const run = async (...words: string[]): Promise<Record<string, string>> => {
    const line = [serverProgramOf(build), '--json', '--data-dir', folder, ...words];
    const { stdout } = await promisify(execFile)(process.execPath, line);
    return JSON.parse(stdout) as Record<string, string>;
  };
  const makeKey = async (name: string): Promise<string> => {
    const { customer_id: customer = '' } = await run('customers', 'create', name);
    const { secret_key: key = '' } = await run('keys', 'create', '--customer', customer, '--rate-limit', RATE_LIMIT);
    return key;
  };
  return { folder, keys: { plain: await makeKey('plain'), withWebhooks: await makeKey('with webhooks') } };
}

export function stopServer({ child }: RunningServer): Promise<void> {
  return end(child);
}
