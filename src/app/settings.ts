import { ANY_ORIGIN, parseOrigin } from '../kernel/origin.ts';
import type { MaxmindAccount } from '../data/maxmind.ts';
import { parseUrl } from '../kernel/parse-url.ts';
import { usableProcessors } from '../kernel/processors.ts';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import * as z from 'zod';
import { NODE_ROLES, type NodeRole } from '../contract/node-roles.ts';
import { parseEgressAllow } from '../egress/allow-list.ts';
import { isNameServer } from '../egress/dns-queries.ts';
import { CONNECTIONS_DEFAULT, REPLAY_IDS_DEFAULT, SOURCE_CONNECTIONS_DEFAULT } from '../kernel/limits.ts';
import type { ClusterAddress } from '../cluster/store/link.ts';
import { readRoles } from './roles.ts';

/** All settings, read once from the environment. Source: contract, 15.1. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** What this node does, in the order of `NODE_ROLES`; at least one role. */
  readonly roles: readonly NodeRole[];
  readonly modelsDir: string;
  readonly geoipDir: string;
  /** Whether slots without a file in the folder use the installed packages. */
  readonly geoipPackages: boolean;
  /** null if none is configured: the default policy applies. */
  readonly policyFile: string | null;
  /** Memory of the velocity store, MiB. */
  readonly velocityMb: number;
  readonly masterKey: string | null;
  /** Networks that webhooks and extractions may reach although they are not public, canonical. */
  readonly egressAllow: readonly string[];
  /** Hours between updates of the data feeds; 0 for none. */
  readonly dataUpdateHours: number;
  /** Look-ups beside the decisions; null for none. `server`: a name server, or null for those of the machine. */
  readonly lookUps: { readonly server: string | null } | null;
  /** Null: databases of MaxMind are put into the folder by hand. */
  readonly maxmind: MaxmindAccount | null;
  /** Proxies whose X-Forwarded-For is trusted, canonical. */
  readonly trustedProxies: readonly string[];
  /** Open connections in all, and of one source address. Lowered to what the limit of open files allows. */
  readonly connectionsMax: number;
  readonly sourceConnectionsMax: number;
  /** Minimum time between the starts of two requests to one registrable domain, for all extractions together. */
  readonly extractHostGapMs: number;
  /** Concurrent requests to one registrable domain. */
  readonly extractHostConcurrency: number;
  /** Concurrent jobs of one customer; further ones wait. */
  readonly extractJobsPerCustomer: number;
  /** Connector → alternative base address of its source, without a trailing slash. */
  readonly connectorBases: Readonly<Record<string, string>>;
  /** Minutes between automatic backups; 0 turns them off. */
  readonly backupMinutes: number;
  readonly logLevel: LogLevel;
  readonly replayIds: number;
  readonly workers: number;
  /** Threads that serve the port and decide; 1 for the main thread alone. */
  readonly cells: number;
  readonly metricsToken: string | null;
  readonly transport: 'auto' | 'uws' | 'node';
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly dashboard: DashboardSettings;
  /** Whether `/docs` serves the documentation. */
  readonly hasDocs: boolean;
  /** Null for a node that works alone. */
  readonly cluster: ClusterSettings | null;
  readonly simulatedTime: boolean;
  /** Whether /readyz waits for the warm-up of the decide path. */
  readonly warmUp: boolean;
}

export interface ClusterSettings extends ClusterAddress {
  /** Whether this node refuses what it cannot count together with the others; otherwise it counts alone and reports `degraded`. */
  readonly isStrict: boolean;
  /** Unique in the cluster; null for a random one that the data directory keeps. */
  readonly nodeId: string | null;
}

export interface DashboardSettings {
  readonly isOn: boolean;
  /** The port of its own listener; null if the service's port serves it. */
  readonly port: number | null;
  readonly isReadOnly: boolean;
  /** The origin under which browsers reach it; null if they use the address on which it listens. */
  readonly publicOrigin: string | null;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Exit code for wrong settings: EX_CONFIG. */
export const EXIT_SETTINGS = 78;

export type ReadSettings =
  | { readonly kind: 'settings'; readonly settings: Settings; readonly warnings: readonly string[] }
  /** One line per fault, each naming its setting. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be a whole number from ${min} to ${max}`);
const text = z.string().min(1, 'must not be empty');
const masterKey = z
  .string()
  .regex(/^([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/, 'must be 32 bytes, as 64 hex digits or as base64');
const networks = z.string().transform((value, context): readonly string[] => {
  const read = parseEgressAllow(value);
  if (read.kind === 'ok') return read.cidrs;
  context.addIssue({
    code: 'custom',
    message: `must be networks like 10.0.0.0/8, separated by commas: ${read.detail}`,
  });
  return z.NEVER;
});
const publicUrl = z.string().transform((value, context): string => {
  const read = value === ANY_ORIGIN ? null : parseOrigin(value);
  if (read?.kind === 'origin') return read.origin;
  const message = 'must be an origin such as https://gatehouse.example, without a path; http only for this machine';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});
const roles = z.string().transform((value, context): readonly NodeRole[] => {
  const read = readRoles(value);
  if (read !== null) return read;
  context.addIssue({
    code: 'custom',
    message: `must be some of ${NODE_ROLES.join(', ')}, each once, separated by commas`,
  });
  return z.NEVER;
});
const lookUps = z.string().refine((value) => value === 'on' || value === 'off' || isNameServer(value), {
  message: 'must be on, off or the address of a name server such as 127.0.0.1:53',
});
const secret = z.string().min(16, 'must have at least 16 characters');
function isStoreUrl(url: URL | null): url is URL {
  return url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname);
}
const clusterUrls = z.string().transform((value, context): readonly string[] => {
  const urls = value.split(',').map((one) => parseUrl(one.trim()));
  const protocols = new Set(urls.map((url) => url?.protocol));
  if (
    urls.every(isStoreUrl) &&
    protocols.size === 1 &&
    urls.every(({ username, password }) => `${username}${password}` === '')
  )
    return urls.map(({ protocol, host }) => `${protocol}//${host}`);
  const message =
    'must be redis://host:port or rediss://host:port, several of one kind separated by commas for a Cluster; user and password have settings of their own';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});
const nodeId = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, - or _');

/** Choice: more score workers than this only wait for the single main thread. */
const WORKERS_MAX = 64;
/** Choice: beyond this the main thread, which decides, is the limit whatever reads its requests. */
const CELLS_MAX = 16;
/** Choice: an extraction slower than a page a minute makes no sense. */
const HOST_GAP_MS_MAX = 60_000;
/** Choice: the number of connections that the SSRF-guarded client opens to one origin. */
const HOST_CONCURRENCY_MAX = 64;

/** Choice: Linux allows a process about a million open files at most. */
const CONNECTIONS_MAX = 1_000_000;

/** Choice: half of the concurrent jobs, so that one customer never has all of them. */
const EXTRACT_JOBS_MAX = 100;

/** Choice: a week; with less than a backup a week the setting is a mistake, and 0 says that none is wanted. */
const BACKUP_MINUTES_MAX = 10_080;
/** A week. Choice: less often than this the list of Tor exits says little. */
const DATA_UPDATE_HOURS_MAX = 168;

const SCHEMA = z.object({
  GATEHOUSE_HOST: text.default('127.0.0.1'),
  GATEHOUSE_PORT: whole(0, 65_535).default(8080),
  GATEHOUSE_DATA_DIR: text.default('./data'),
  GATEHOUSE_ROLES: roles.optional(),
  GATEHOUSE_MODELS_DIR: text.default('./models'),
  GATEHOUSE_GEOIP_DIR: text.optional(),
  GATEHOUSE_GEOIP_PACKAGES: z.enum(['0', '1'], 'must be 0 or 1').default('1'),
  GATEHOUSE_POLICY_FILE: text.optional(),
  GATEHOUSE_VELOCITY_MB: whole(16, 8_192).default(256),
  GATEHOUSE_MASTER_KEY: masterKey.optional(),
  GATEHOUSE_EGRESS_ALLOW: networks.optional(),
  GATEHOUSE_TRUSTED_PROXIES: networks.optional(),
  GATEHOUSE_CONNECTIONS: whole(16, CONNECTIONS_MAX).default(CONNECTIONS_DEFAULT),
  GATEHOUSE_CONNECTIONS_PER_SOURCE: whole(1, CONNECTIONS_MAX).default(SOURCE_CONNECTIONS_DEFAULT),
  GATEHOUSE_EXTRACT_HOST_GAP_MS: whole(0, HOST_GAP_MS_MAX).default(250),
  GATEHOUSE_EXTRACT_HOST_CONCURRENCY: whole(1, HOST_CONCURRENCY_MAX).default(2),
  GATEHOUSE_EXTRACT_JOBS_PER_CUSTOMER: whole(1, EXTRACT_JOBS_MAX).default(10),
  GATEHOUSE_BACKUP_MINUTES: whole(0, BACKUP_MINUTES_MAX).default(60),
  GATEHOUSE_DATA_UPDATE_HOURS: whole(0, DATA_UPDATE_HOURS_MAX).default(0),
  GATEHOUSE_LOOK_UPS: lookUps.optional(),
  GATEHOUSE_MAXMIND_ACCOUNT: z
    .string()
    .regex(/^\d{1,12}$/, 'must be the number of an account')
    .optional(),
  GATEHOUSE_MAXMIND_LICENSE_KEY: text.optional(),
  GATEHOUSE_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  GATEHOUSE_REPLAY_IDS: whole(1_024, 268_435_456).default(REPLAY_IDS_DEFAULT),
  GATEHOUSE_WORKERS: whole(1, WORKERS_MAX).optional(),
  GATEHOUSE_CELLS: whole(1, CELLS_MAX).default(1),
  GATEHOUSE_METRICS_TOKEN: secret.optional(),
  GATEHOUSE_TRANSPORT: z.enum(['auto', 'uws', 'node'], 'must be auto, uws or node').default('auto'),
  GATEHOUSE_TLS_CERT: text.optional(),
  GATEHOUSE_TLS_KEY: text.optional(),
  GATEHOUSE_DASHBOARD: z.enum(['on', 'off'], 'must be on or off').default('on'),
  GATEHOUSE_DASHBOARD_PORT: whole(0, 65_535).optional(),
  GATEHOUSE_DASHBOARD_READ_ONLY: z.enum(['0', '1'], 'must be 0 or 1').default('0'),
  GATEHOUSE_PUBLIC_URL: publicUrl.optional(),
  GATEHOUSE_DOCS: z.enum(['on', 'off'], 'must be on or off').default('on'),
  GATEHOUSE_CLUSTER_URL: clusterUrls.optional(),
  GATEHOUSE_CLUSTER_USER: text.optional(),
  GATEHOUSE_CLUSTER_PASSWORD: text.optional(),
  GATEHOUSE_CLUSTER_STRICT: z.enum(['0', '1'], 'must be 0 or 1').default('0'),
  GATEHOUSE_NODE_ID: nodeId.optional(),
  GATEHOUSE_SIMULATED_TIME: z.enum(['0', '1'], 'must be 0 or 1').default('0'),
  GATEHOUSE_WARM_UP: z.enum(['0', '1'], 'must be 0 or 1').default('1'),
});

/** Removed settings → what holds instead. They are ignored with a warning, so that an environment that names them still starts. */
const REMOVED: Readonly<Record<string, string>> = {
  GATEHOUSE_EXTRACT_RECORDS_MAX: 'a job that collects all has at most 1,000,000 records',
  GATEHOUSE_EXTRACT_HOURS_MAX: 'a job runs for at most 24 h',
  GATEHOUSE_TLS_HANDSHAKES_PER_SOURCE: 'one source address may begin 100 TLS handshakes a second',
  GATEHOUSE_BACKUPS_KEPT: 'the 3 newest automatic backups are kept',
  GATEHOUSE_DASHBOARD_IDLE_MINUTES: 'a session of the dashboard ends 12 h after it began, however little it is used',
};

/**
 * Reads all settings and reports all faults at once. An empty value counts as absent. `connectorsWithBase`: ids of the connectors that can
 * be read through another address; each has a setting named after its id in capitals, for example `GATEHOUSE_CONNECTOR_BASE_GITHUB`.
 */
export function readSettings(env: NodeJS.ProcessEnv, connectorsWithBase: readonly string[]): ReadSettings {
  const baseSettings = new Map(connectorsWithBase.map((id) => [`GATEHOUSE_CONNECTOR_BASE_${id.toUpperCase()}`, id]));
  const given = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name.startsWith('GATEHOUSE_') && value !== ''),
  );
  const faults: string[] = [];
  const warnings: string[] = [];
  const parsed = SCHEMA.safeParse(given);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) faults.push(`${issue.path.join('.')} ${issue.message}`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(SCHEMA.shape, name) || baseSettings.has(name)) continue;
    const instead = Object.hasOwn(REMOVED, name) ? REMOVED[name] : undefined;
    // Not a fault: an orchestrator sets its own names with this prefix if the service is called gatehouse.
    if (instead === undefined) warnings.push(`${name} is not a setting`);
    else warnings.push(`${name} is no longer a setting and is ignored: ${instead}`);
  }
  const connectorBases: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const connector = baseSettings.get(name);
    if (connector === undefined) continue;
    const base = baseAddress(value);
    if (base === null) faults.push(`${name} must be an http or https URL without query, user name and password`);
    else connectorBases[connector] = base;
  }
  const certFile = given['GATEHOUSE_TLS_CERT'];
  const keyFile = given['GATEHOUSE_TLS_KEY'];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    faults.push('GATEHOUSE_TLS_CERT and GATEHOUSE_TLS_KEY must be given together');
  }
  if ((given['GATEHOUSE_MAXMIND_ACCOUNT'] === undefined) !== (given['GATEHOUSE_MAXMIND_LICENSE_KEY'] === undefined))
    faults.push('GATEHOUSE_MAXMIND_ACCOUNT and GATEHOUSE_MAXMIND_LICENSE_KEY must be given together');
  const host = given['GATEHOUSE_HOST'] ?? '127.0.0.1';
  if (given['GATEHOUSE_SIMULATED_TIME'] === '1' && !isLoopback(host)) {
    faults.push('GATEHOUSE_SIMULATED_TIME is only allowed with a loopback address in GATEHOUSE_HOST');
  }
  const port = parsed.success ? parsed.data.GATEHOUSE_DASHBOARD_PORT : undefined;
  if (parsed.success && port !== undefined && port !== 0 && port === parsed.data.GATEHOUSE_PORT) {
    faults.push('GATEHOUSE_DASHBOARD_PORT must differ from GATEHOUSE_PORT');
  }
  if (!parsed.success || faults.length > 0) return { kind: 'faults', faults };
  const settings = { ...toSettings(parsed.data), connectorBases };
  const alone = onlyMainThread(settings);
  if (alone === null) return { kind: 'settings', settings, warnings };
  warnings.push(`GATEHOUSE_CELLS has no effect ${alone}: the main thread serves alone`);
  return { kind: 'settings', settings: { ...settings, cells: 1 }, warnings };
}

/** Returns why only the main thread can serve although cells are set; null if they can, or if none are. */
function onlyMainThread({ cells, cluster, simulatedTime, transport }: Settings): string | null {
  if (cells === 1) return null;
  if (cluster !== null) return 'on a node of a cluster';
  if (simulatedTime) return 'with simulated time';
  return transport === 'node' ? 'with node:http' : null;
}

function toSettings(values: z.infer<typeof SCHEMA>): Omit<Settings, 'connectorBases'> {
  const dataDir = resolve(values.GATEHOUSE_DATA_DIR);
  const { GATEHOUSE_TLS_CERT: certFile, GATEHOUSE_TLS_KEY: keyFile } = values;
  return {
    host: values.GATEHOUSE_HOST,
    port: values.GATEHOUSE_PORT,
    dataDir,
    roles: values.GATEHOUSE_ROLES ?? NODE_ROLES,
    modelsDir: resolve(values.GATEHOUSE_MODELS_DIR),
    geoipDir:
      values.GATEHOUSE_GEOIP_DIR === undefined ? resolve(dataDir, 'geoip') : resolve(values.GATEHOUSE_GEOIP_DIR),
    geoipPackages: values.GATEHOUSE_GEOIP_PACKAGES === '1',
    policyFile: values.GATEHOUSE_POLICY_FILE === undefined ? null : resolve(values.GATEHOUSE_POLICY_FILE),
    velocityMb: values.GATEHOUSE_VELOCITY_MB,
    masterKey: values.GATEHOUSE_MASTER_KEY ?? null,
    egressAllow: values.GATEHOUSE_EGRESS_ALLOW ?? [],
    trustedProxies: values.GATEHOUSE_TRUSTED_PROXIES ?? [],
    connectionsMax: values.GATEHOUSE_CONNECTIONS,
    sourceConnectionsMax: values.GATEHOUSE_CONNECTIONS_PER_SOURCE,
    extractHostGapMs: values.GATEHOUSE_EXTRACT_HOST_GAP_MS,
    extractHostConcurrency: values.GATEHOUSE_EXTRACT_HOST_CONCURRENCY,
    extractJobsPerCustomer: values.GATEHOUSE_EXTRACT_JOBS_PER_CUSTOMER,
    backupMinutes: values.GATEHOUSE_BACKUP_MINUTES,
    dataUpdateHours: values.GATEHOUSE_DATA_UPDATE_HOURS,
    lookUps: lookUpsOf(values.GATEHOUSE_LOOK_UPS, values.GATEHOUSE_DATA_UPDATE_HOURS),
    maxmind: maxmindOf(values.GATEHOUSE_MAXMIND_ACCOUNT, values.GATEHOUSE_MAXMIND_LICENSE_KEY),
    logLevel: values.GATEHOUSE_LOG_LEVEL,
    replayIds: values.GATEHOUSE_REPLAY_IDS,
    workers: values.GATEHOUSE_WORKERS ?? defaultWorkers(usableProcessors()),
    cells: values.GATEHOUSE_CELLS,
    metricsToken: values.GATEHOUSE_METRICS_TOKEN ?? null,
    transport: values.GATEHOUSE_TRANSPORT,
    tls:
      certFile !== undefined && keyFile !== undefined
        ? { certFile: resolve(certFile), keyFile: resolve(keyFile) }
        : null,
    dashboard: {
      isOn: values.GATEHOUSE_DASHBOARD === 'on',
      port: values.GATEHOUSE_DASHBOARD_PORT ?? null,
      isReadOnly: values.GATEHOUSE_DASHBOARD_READ_ONLY === '1',
      publicOrigin: values.GATEHOUSE_PUBLIC_URL ?? null,
    },
    hasDocs: values.GATEHOUSE_DOCS === 'on',
    cluster:
      values.GATEHOUSE_CLUSTER_URL === undefined
        ? null
        : {
            urls: values.GATEHOUSE_CLUSTER_URL,
            user: values.GATEHOUSE_CLUSTER_USER ?? null,
            password: values.GATEHOUSE_CLUSTER_PASSWORD ?? null,
            isStrict: values.GATEHOUSE_CLUSTER_STRICT === '1',
            nodeId: values.GATEHOUSE_NODE_ID ?? null,
          },
    simulatedTime: values.GATEHOUSE_SIMULATED_TIME === '1',
    warmUp: values.GATEHOUSE_WARM_UP === '1',
  };
}

/** Without a setting they are on if data updates are: nothing leaves the machine otherwise. */
function lookUpsOf(value: string | undefined, dataUpdateHours: number): Settings['lookUps'] {
  if (value === 'off' || (value === undefined && dataUpdateHours === 0)) return null;
  return { server: value === undefined || value === 'on' ? null : value };
}

function maxmindOf(account: string | undefined, licenseKey: string | undefined): MaxmindAccount | null {
  return account === undefined || licenseKey === undefined ? null : { account, licenseKey };
}

/**
 * Score workers without a setting: one processor is for the main thread. More than two workers mostly wake each other.
 * Measured (two processors, 3,000/s): a decision costs 149 µs of processor time with 1 worker, 319 µs with 8.
 */
export function defaultWorkers(processors: number): number {
  return Math.max(1, Math.min(processors - 1, 2));
}

function baseAddress(value: string | undefined): string | null {
  const url = value === undefined ? null : parseUrl(value);
  if (url === null) return null;
  const { protocol, username, password, search, hash, href } = url;
  if (!/^https?:$/.test(protocol) || `${username}${password}${search}${hash}` !== '') return null;
  return href.replace(/\/+$/, '');
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
