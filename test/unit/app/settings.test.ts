import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defaultWorkers, isLoopback, readSettings, type Settings } from '../../../src/app/settings.ts';

function read(env: Record<string, string>): { settings: Settings; warnings: readonly string[] } {
  const result = readSettings(env, ['crossref', 'github']);
  if (result.kind === 'faults') throw new Error(result.faults.join('; '));
  return result;
}

function faults(env: Record<string, string>): readonly string[] {
  const result = readSettings(env, ['crossref', 'github']);
  return result.kind === 'faults' ? result.faults : [];
}

describe('settings', () => {
  test('Every setting has a default', () => {
    const { settings, warnings } = read({ PATH: '/bin', HOME: '/root' });
    expect(warnings).toEqual([]);
    expect(settings).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: resolve('data'),
      modelsDir: resolve('models'),
      geoipDir: resolve('data/geoip'),
      geoipPackages: true,
      policyFile: null,
      velocityMb: 256,
      masterKey: null,
      egressAllow: [],
      trustedProxies: [],
      connectionsMax: 16_384,
      sourceConnectionsMax: 1_024,
      extractHostGapMs: 250,
      extractHostConcurrency: 2,
      extractJobsPerCustomer: 10,
      connectorBases: {},
      backupMinutes: 60,
      dataUpdateHours: 0,
      lookUps: null,
      logLevel: 'info',
      replayIds: 16_777_216,
      metricsToken: null,
      transport: 'auto',
      tls: null,
      dashboard: { isOn: true, port: null, isReadOnly: false, publicOrigin: null },
      hasDocs: true,
      cluster: null,
      simulatedTime: false,
      warmUp: true,
    });
    expect(settings.workers).toBeGreaterThanOrEqual(1);
  });

  test('Without a setting there are one or two score workers, however many processors there are', () => {
    expect([1, 2, 3, 4, 64].map(defaultWorkers)).toEqual([1, 1, 2, 2, 2]);
  });

  test('Settings are read from the environment', () => {
    const { settings, warnings } = read({
      GATEHOUSE_HOST: '0.0.0.0',
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DATA_DIR: '/var/lib/gatehouse',
      GATEHOUSE_MODELS_DIR: '/srv/models',
      GATEHOUSE_POLICY_FILE: '/srv/policy.json',
      GATEHOUSE_ROLES: 'extract,api',
      GATEHOUSE_VELOCITY_MB: '1024',
      GATEHOUSE_MASTER_KEY: 'ab'.repeat(32),
      GATEHOUSE_CONNECTIONS: '100',
      GATEHOUSE_CONNECTIONS_PER_SOURCE: '10',
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
      GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '64',
      GATEHOUSE_EXTRACT_JOBS_PER_CUSTOMER: '3',
      GATEHOUSE_GEOIP_PACKAGES: '0',
      GATEHOUSE_BACKUP_MINUTES: '0',
      GATEHOUSE_DATA_UPDATE_HOURS: '24',
      GATEHOUSE_MAXMIND_ACCOUNT: '123456',
      GATEHOUSE_MAXMIND_LICENSE_KEY: 'abc_123',
      GATEHOUSE_CONNECTOR_BASE_GITHUB: 'https://github-proxy.internal/api/',
      GATEHOUSE_LOG_LEVEL: 'debug',
      GATEHOUSE_REPLAY_IDS: '1024',
      GATEHOUSE_WORKERS: '3',
      GATEHOUSE_METRICS_TOKEN: '0123456789abcdef',
      GATEHOUSE_TRANSPORT: 'node',
      GATEHOUSE_TLS_CERT: '/srv/cert.pem',
      GATEHOUSE_TLS_KEY: '/srv/key.pem',
      GATEHOUSE_DASHBOARD: 'off',
      GATEHOUSE_DASHBOARD_PORT: '8081',
      GATEHOUSE_DASHBOARD_READ_ONLY: '1',
      GATEHOUSE_PUBLIC_URL: 'https://Gatehouse.example:443/',
      GATEHOUSE_CLUSTER_URL: 'rediss://store-1:7000, rediss://store-2:7000',
      GATEHOUSE_CLUSTER_USER: 'gatehouse',
      GATEHOUSE_CLUSTER_PASSWORD: 'secret',
      GATEHOUSE_CLUSTER_STRICT: '1',
      GATEHOUSE_NODE_ID: 'node_1',
    });
    expect(warnings).toEqual([]);
    expect(settings).toEqual({
      host: '0.0.0.0',
      port: 0,
      dataDir: '/var/lib/gatehouse',
      roles: ['api', 'extract'],
      modelsDir: '/srv/models',
      geoipDir: '/var/lib/gatehouse/geoip',
      geoipPackages: false,
      policyFile: '/srv/policy.json',
      velocityMb: 1_024,
      masterKey: 'ab'.repeat(32),
      egressAllow: [],
      trustedProxies: [],
      connectionsMax: 100,
      sourceConnectionsMax: 10,
      extractHostGapMs: 0,
      extractHostConcurrency: 64,
      extractJobsPerCustomer: 3,
      connectorBases: { github: 'https://github-proxy.internal/api' },
      backupMinutes: 0,
      dataUpdateHours: 24,
      lookUps: { server: null },
      maxmind: { account: '123456', licenseKey: 'abc_123' },
      logLevel: 'debug',
      replayIds: 1_024,
      workers: 3,
      cells: 1,
      metricsToken: '0123456789abcdef',
      transport: 'node',
      tls: { certFile: '/srv/cert.pem', keyFile: '/srv/key.pem' },
      dashboard: {
        isOn: false,
        port: 8_081,
        isReadOnly: true,
        publicOrigin: 'https://gatehouse.example',
      },
      hasDocs: true,
      simulatedTime: false,
      warmUp: true,
      cluster: {
        urls: ['rediss://store-1:7000', 'rediss://store-2:7000'],
        user: 'gatehouse',
        password: 'secret',
        isStrict: true,
        nodeId: 'node_1',
      },
    });
    expect(read({ GATEHOUSE_GEOIP_DIR: '/srv/geoip' }).settings.geoipDir).toBe('/srv/geoip');
  });

  test.each([
    ['on a node of a cluster', { GATEHOUSE_CLUSTER_URL: 'redis://store:6379' }],
    ['with simulated time', { GATEHOUSE_SIMULATED_TIME: '1' }],
    ['with node:http', { GATEHOUSE_TRANSPORT: 'node' }],
  ])('Cells have no effect %s, and the start says so', (where, env) => {
    const { settings, warnings } = read({ ...env, GATEHOUSE_CELLS: '4' });
    expect(settings.cells).toBe(1);
    expect(warnings).toEqual([`GATEHOUSE_CELLS has no effect ${where}: the main thread serves alone`]);
    expect(read({ GATEHOUSE_CELLS: '4' })).toMatchObject({ settings: { cells: 4 }, warnings: [] });
    expect(read({ ...env }).warnings).toEqual([]);
  });

  test('An empty value is treated as absent', () => {
    expect(
      read({ GATEHOUSE_PORT: '', GATEHOUSE_WORKERS: '', GATEHOUSE_TLS_CERT: '', GATEHOUSE_SOMETHING: '' }).warnings,
    ).toEqual([]);
    expect(read({ GATEHOUSE_PORT: '' }).settings.port).toBe(8080);
  });

  const WRONG: Readonly<Record<string, string>> = {
    GATEHOUSE_PORT: '65536',
    GATEHOUSE_MASTER_KEY: 'short',
    GATEHOUSE_LOG_LEVEL: 'loud',
    GATEHOUSE_REPLAY_IDS: '1023',
    GATEHOUSE_WORKERS: '0',
    GATEHOUSE_CELLS: '17',
    GATEHOUSE_METRICS_TOKEN: 'short',
    GATEHOUSE_TRANSPORT: 'http3',
    GATEHOUSE_TLS_CERT: '/srv/cert.pem',
    GATEHOUSE_SIMULATED_TIME: 'yes',
    GATEHOUSE_WARM_UP: 'yes',
    GATEHOUSE_GEOIP_PACKAGES: 'no',
    GATEHOUSE_VELOCITY_MB: '15',
    GATEHOUSE_BACKUP_MINUTES: '10081',
    GATEHOUSE_CLUSTER_URL: 'http://somewhere',
    GATEHOUSE_DASHBOARD: 'yes',
    GATEHOUSE_DASHBOARD_PORT: '65536',
    GATEHOUSE_DASHBOARD_READ_ONLY: 'on',
    GATEHOUSE_PUBLIC_URL: 'http://gatehouse.example',
  };

  test.each([
    '*',
    'https://gatehouse.example/dashboard',
    'https://user:x@gatehouse.example',
    'gatehouse.example',
    'ftp://a.b',
  ])('GATEHOUSE_PUBLIC_URL=%s is refused, because it is not one origin', (value) => {
    expect(faults({ GATEHOUSE_PUBLIC_URL: value })).toEqual([
      expect.stringMatching(/^GATEHOUSE_PUBLIC_URL must be an origin/),
    ]);
  });

  test('The public URL may be plain HTTP for this machine only', () => {
    const origins = ['http://localhost:9000', 'http://127.0.0.1:9000', 'http://[::1]:9000'];
    for (const origin of origins) {
      expect(read({ GATEHOUSE_PUBLIC_URL: origin }).settings.dashboard.publicOrigin).toBe(origin);
    }
  });

  test('The dashboard cannot have the port of the service, unless both are chosen by the system', () => {
    expect(faults({ GATEHOUSE_PORT: '9000', GATEHOUSE_DASHBOARD_PORT: '9000' })).toEqual([
      'GATEHOUSE_DASHBOARD_PORT must differ from GATEHOUSE_PORT',
    ]);
    expect(faults({ GATEHOUSE_DASHBOARD_PORT: '8080' })).toHaveLength(1);
    expect(read({ GATEHOUSE_PORT: '0', GATEHOUSE_DASHBOARD_PORT: '0' }).settings.dashboard.port).toBe(0);
  });

  test('Every wrong value is named at once, and only once', () => {
    const all = faults(WRONG);
    for (const name of Object.keys(WRONG)) expect(all.filter((fault) => fault.startsWith(`${name} `))).toHaveLength(1);
    expect(all).toHaveLength(Object.keys(WRONG).length);
  });

  test.each(Object.entries(WRONG))('%s=%s is reported by name, and no secret is printed', (name, value) => {
    const all = faults({ [name]: value });
    expect(all).toHaveLength(1);
    expect(all[0]).toContain(name);
    const isSecret = name === 'GATEHOUSE_MASTER_KEY' || name === 'GATEHOUSE_METRICS_TOKEN';
    expect(isSecret && all[0]?.includes(value)).toBe(false);
  });

  test.each(['', '-1', '80a', '8080.5', '1e3', ' 80', '0x50', '99999999999999'])('%j is not a port', (port) => {
    expect(faults({ GATEHOUSE_PORT: port })).toHaveLength(port === '' ? 0 : 1);
  });

  test('A master key is 32 bytes, as hex digits or as base64', () => {
    for (const key of [
      'aB'.repeat(32),
      Buffer.alloc(32, 5).toString('base64'),
      Buffer.alloc(32, 250).toString('base64url'),
    ]) {
      expect(read({ GATEHOUSE_MASTER_KEY: key }).settings.masterKey).toBe(key);
    }
    for (const key of [
      'a'.repeat(63),
      'g'.repeat(64),
      Buffer.alloc(31).toString('base64'),
      Buffer.alloc(33).toString('base64'),
    ]) {
      expect(faults({ GATEHOUSE_MASTER_KEY: key })).toHaveLength(1);
    }
  });

  test('The policy file may be given relative to the working directory', () => {
    expect(read({ GATEHOUSE_POLICY_FILE: 'policy.json' }).settings.policyFile).toBe(resolve('policy.json'));
  });

  test('The size of the velocity store has limits', () => {
    for (const mb of ['16', '8192']) expect(read({ GATEHOUSE_VELOCITY_MB: mb }).settings.velocityMb).toBe(Number(mb));
    for (const mb of ['15', '8193', '256M', '1.5']) expect(faults({ GATEHOUSE_VELOCITY_MB: mb })).toHaveLength(1);
  });

  test('The rate limits towards sources have limits of their own', () => {
    const { settings } = read({ GATEHOUSE_EXTRACT_HOST_GAP_MS: '60000', GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '1' });
    expect([settings.extractHostGapMs, settings.extractHostConcurrency]).toEqual([60_000, 1]);
    for (const gap of ['-1', '60001', '250ms', '0.5'])
      expect(faults({ GATEHOUSE_EXTRACT_HOST_GAP_MS: gap })).toEqual([
        'GATEHOUSE_EXTRACT_HOST_GAP_MS must be a whole number from 0 to 60000',
      ]);
    for (const concurrency of ['0', '65', 'two'])
      expect(faults({ GATEHOUSE_EXTRACT_HOST_CONCURRENCY: concurrency })).toEqual([
        'GATEHOUSE_EXTRACT_HOST_CONCURRENCY must be a whole number from 1 to 64',
      ]);
  });

  test('A customer has from 1 to 100 running jobs', () => {
    const name = 'GATEHOUSE_EXTRACT_JOBS_PER_CUSTOMER';
    for (const max of [1, 100]) expect(read({ [name]: String(max) }).settings.extractJobsPerCustomer).toBe(max);
    for (const wrong of ['0', '101', '1.5'])
      expect(faults({ [name]: wrong })).toEqual([`${name} must be a whole number from 1 to 100`]);
  });

  test('The base URL of a connector is an http or https URL without further parts', () => {
    expect(read({ GATEHOUSE_CONNECTOR_BASE_CROSSREF: 'http://127.0.0.1:8081' }).settings.connectorBases).toEqual({
      crossref: 'http://127.0.0.1:8081',
    });
    for (const base of ['proxy.internal', 'ftp://x', 'https://a:b@x', 'https://x/?y=1', 'https://x/#y'])
      expect(faults({ GATEHOUSE_CONNECTOR_BASE_CROSSREF: base })).toEqual([
        expect.stringMatching(/^GATEHOUSE_CONNECTOR_BASE_CROSSREF must be an http or https URL/),
      ]);
  });

  test.each(['', 'NOPE', 'github', 'FEED'])('GATEHOUSE_CONNECTOR_BASE_%s is not a setting', (id) => {
    const name = `GATEHOUSE_CONNECTOR_BASE_${id}`;
    const { settings, warnings } = read({ [name]: 'https://x.example' });
    expect([settings.connectorBases, warnings]).toEqual([{}, [`${name} is not a setting`]]);
  });

  test('Certificate and key must be set together', () => {
    for (const name of ['GATEHOUSE_TLS_CERT', 'GATEHOUSE_TLS_KEY']) {
      const [fault] = faults({ [name]: '/srv/file.pem' });
      expect(fault).toContain('GATEHOUSE_TLS_CERT');
      expect(fault).toContain('GATEHOUSE_TLS_KEY');
    }
  });

  test('The virtual clock requires a loopback address', () => {
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) {
      expect(read({ GATEHOUSE_SIMULATED_TIME: '1', GATEHOUSE_HOST: host }).settings.simulatedTime).toBe(true);
    }
    expect(read({ GATEHOUSE_SIMULATED_TIME: '1' }).settings.simulatedTime).toBe(true);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.0.0.1.example.com', '127.1']) {
      expect(isLoopback(host)).toBe(false);
      expect(faults({ GATEHOUSE_SIMULATED_TIME: '1', GATEHOUSE_HOST: host })).toHaveLength(1);
      expect(read({ GATEHOUSE_SIMULATED_TIME: '0', GATEHOUSE_HOST: host }).settings.simulatedTime).toBe(false);
    }
  });

  test('Allowed networks are parsed strictly, and the default is an empty list', () => {
    expect(read({}).settings.egressAllow).toEqual([]);
    expect(read({ GATEHOUSE_TRUSTED_PROXIES: '10.0.0.0/8' }).settings.trustedProxies).toEqual(['10.0.0.0/8']);
    expect(read({ GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8, 10.1.2.3 fd00::/8' }).settings.egressAllow).toEqual([
      '127.0.0.0/8',
      '10.1.2.3/32',
      'fd00::/8',
    ]);
    for (const wrong of ['10/8', '10.0.0.1/8', '10.0.0.0/33', 'localhost', '10.0.0.0/8;::1']) {
      expect(faults({ GATEHOUSE_EGRESS_ALLOW: wrong })).toEqual([
        expect.stringMatching(/^GATEHOUSE_EGRESS_ALLOW must be networks/),
      ]);
    }
  });

  test.each([
    ['GATEHOUSE_EXTRACT_RECORDS_MAX', 'a job that collects all has at most 1,000,000 records'],
    ['GATEHOUSE_EXTRACT_HOURS_MAX', 'a job runs for at most 24 h'],
    ['GATEHOUSE_TLS_HANDSHAKES_PER_SOURCE', 'one source address may begin 100 TLS handshakes a second'],
    ['GATEHOUSE_BACKUPS_KEPT', 'the 3 newest automatic backups are kept'],
    [
      'GATEHOUSE_DASHBOARD_IDLE_MINUTES',
      'a session of the dashboard ends 12 h after it began, however little it is used',
    ],
  ])('The removed setting %s is ignored with one warning that says what holds instead', (name, instead) => {
    const { warnings } = read({ [name]: 'two' });
    expect(warnings).toEqual([`${name} is no longer a setting and is ignored: ${instead}`]);
  });

  test('An unknown setting name is a warning', () => {
    const { warnings } = read({
      GATEHOUSE_PROT: '80',
      GATEHOUSE_PORT_80_TCP: 'tcp://x',
      constructor: 'x',
    });
    expect(warnings).toEqual(['GATEHOUSE_PROT is not a setting', 'GATEHOUSE_PORT_80_TCP is not a setting']);
  });
});
