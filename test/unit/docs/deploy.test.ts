import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { START_FLAGS } from '../../../bench/start-flags.ts';

/** The files of `deploy` name settings, metrics and files that exist. Docker itself does not run here. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Parses YAML with Debian's python3-yaml; null without it. */
function parse(path: string): unknown {
  const program = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))';
  const { status, stdout } = spawnSync('python3', ['-c', program, join(ROOT, path)], { encoding: 'utf8' });
  return status === 0 ? JSON.parse(stdout) : null;
}
const HAS_YAML = spawnSync('python3', ['-c', 'import yaml']).status === 0;

/** Part of Debian's package `prometheus`. */
const HAS_PROMTOOL = spawnSync('promtool', ['--version']).status === 0;
const HAS_SYSTEMD = spawnSync('systemd-analyze', ['--version']).status === 0;
/** Not in Debian. */
const HAS_HELM = spawnSync('helm', ['version']).status === 0;

/** The command of the image's health check. */
const HEALTH_CHECK = JSON.parse(
  /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(read('deploy/Dockerfile'))?.[1] ?? '[]',
) as readonly string[];

describe('deploy/compose.cluster.yaml', () => {
  test.skipIf(!HAS_YAML)('Three nodes with a name and a volume each share a store and stand behind a balancer', () => {
    const { services, volumes } = parse('deploy/compose.cluster.yaml') as {
      services: Record<string, { environment?: Record<string, string>; volumes: string[]; env_file?: string }>;
      volumes: Record<string, null>;
    };
    const nodes = Object.entries(services).filter(([name]) => name.startsWith('node-'));
    expect(nodes.map(([, { environment }]) => environment?.['GATEHOUSE_NODE_ID'])).toEqual(nodes.map(([name]) => name));
    expect(nodes.map(([, node]) => node.volumes)).toEqual(nodes.map(([name]) => [`${name}:/data`]));
    for (const [, node] of nodes) expect(node.env_file).toBe('cluster.env');
    expect(Object.keys(services).sort()).toEqual(['balancer', 'node-1', 'node-2', 'node-3', 'valkey']);
    expect(Object.keys(volumes).sort()).toEqual(['node-1', 'node-2', 'node-3', 'valkey']);
    for (const [name] of nodes) expect(read('deploy/haproxy.cfg')).toContain(`server ${name} ${name}:8080`);
  });

  test.skipIf(!HAS_YAML)('The health check of a node is that of the image', () => {
    const { services } = parse('deploy/compose.cluster.yaml') as {
      services: Record<string, { healthcheck: { test: readonly string[] } }>;
    };
    expect(services['node-1']?.healthcheck.test).toEqual(['CMD', ...HEALTH_CHECK]);
  });

  test.skipIf(!HAS_YAML)('Secrets of the nodes reach neither the store nor the image', () => {
    const { services } = parse('deploy/compose.cluster.yaml') as {
      services: Record<string, { environment?: Record<string, string>; env_file?: string }>;
    };
    const { environment = {}, env_file: file } = services['valkey'] ?? {};
    expect([Object.keys(environment), file]).toEqual([['GATEHOUSE_CLUSTER_PASSWORD'], undefined]);
    const linesOf = (path: string): readonly string[] => read(path).split('\n');
    expect(linesOf('.dockerignore')).toEqual(expect.arrayContaining(['deploy/cluster.env', 'node_modules', 'data']));
    expect(linesOf('.gitignore')).toContain('/deploy/cluster.env');
  });

  test('Every file that it names is in the repository', () => {
    const mounted = [...read('deploy/compose.cluster.yaml').matchAll(/^ +- \.\/(\S+):\//gm)].map(
      ([, path = '']) => path,
    );
    const named = [...mounted, 'Dockerfile', 'cluster.env.example'];
    expect(named.filter((path) => !existsSync(join(ROOT, 'deploy', path)))).toEqual([]);
  });

  test('Every setting in deploy exists', () => {
    const text = ['compose.yaml', 'compose.cluster.yaml', 'cluster.env.example', 'Dockerfile', 'gatehouse.service']
      .map((name) => read(`deploy/${name}`))
      .join('\n');
    const names = new Set([...text.matchAll(/GATEHOUSE_[A-Z_]+/g)].map(([name]) => name));
    expect(names.size).toBeGreaterThan(5);
    const known = new Set(read('src/app/settings.ts').match(/GATEHOUSE_[A-Z_]+/g));
    expect([...names].filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('deploy/alerts.yaml', () => {
  test.skipIf(!HAS_YAML)('Every rule has an expression, a severity and a summary, and a name of its own', () => {
    const { groups } = parse('deploy/alerts.yaml') as {
      groups: { rules: { alert: string; expr: string; labels: object; annotations: object }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { expr, labels, annotations } of rules) {
      expect(expr).not.toBe('');
      expect(Object.keys(labels)).toEqual(['severity']);
      expect(Object.keys(annotations)).toContain('summary');
    }
  });

  test.skipIf(!HAS_PROMTOOL)('The rules fire when alerts.test.yaml expects it, and not otherwise', () => {
    const { stdout, stderr, status } = spawnSync('promtool', ['test', 'rules', join(ROOT, 'deploy/alerts.test.yaml')]);
    expect([status, String(stdout), String(stderr)]).toEqual([0, expect.any(String), '']);
  });

  test('Every rule has a case in alerts.test.yaml in which it fires', () => {
    const rules = [...read('deploy/alerts.yaml').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const tested = read('deploy/alerts.test.yaml');
    expect(rules.length).toBeGreaterThan(20);
    expect(rules.filter((name) => !tested.includes(name))).toEqual([]);
  });

  test('Every metric in the rules exists', () => {
    const names = [...read('deploy/alerts.yaml').matchAll(/\bgatehouse_[a-z_]+/g)].map(([name]) => name);
    expect(names.length).toBeGreaterThan(5);
    // A test of the metrics compares this page with what servers have.
    const page = read('docs/operating.md');
    const isKnown = (name: string): boolean => page.includes(`\`${name.replace(/_(bucket|sum|count)$/, '')}\``);
    expect(names.filter((name) => !isKnown(name))).toEqual([]);
    const tested = [...read('deploy/alerts.test.yaml').matchAll(/\bgatehouse_[a-z_]+/g)].map(([name]) => name);
    expect(tested.filter((name) => !isKnown(name))).toEqual([]);
  });
});

describe('deploy/gatehouse.service', () => {
  const unit = read('deploy/gatehouse.service');

  test('Only the user of the service may read its files', () => {
    expect(unit.split('\n')).toEqual(expect.arrayContaining(['UMask=0077', 'StateDirectoryMode=0700']));
  });

  test('It, the image and the benches run the server as npm start does, and does not restart it with settings that it refused', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
    const [, words = ''] = /exec node (.*)$/.exec(scripts.start) ?? [];
    expect(words).toMatch(/ dist\/app\/main\.js serve$/);
    expect(unit.split('\n')).toContain(`ExecStart=/usr/bin/node ${words}`);
    expect(unit.split('\n')).toContain('RestartPreventExitStatus=78');
    const image = /^CMD (\[.*\])$/m.exec(read('deploy/Dockerfile'))?.[1] ?? '[]';
    expect(JSON.parse(image)).toEqual(['node', ...words.split(' ')]);
    // Process 1 could not end itself.
    expect(read('deploy/Dockerfile')).toContain('ENTRYPOINT ["tini", "--"]');
    expect([...START_FLAGS, 'dist/app/main.js', 'serve']).toEqual(words.split(' '));
  });

  test('It lets the compiler of JavaScript write and execute memory', () => {
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute=(?:true|yes|1)/m);
  });

  test.skipIf(!HAS_SYSTEMD)('systemd finds no fault in it, and an exposure of 2.0 at most', () => {
    const file = join(ROOT, 'deploy/gatehouse.service');
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', file], { encoding: 'utf8' });
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]);
    expect(exposure).toBeLessThanOrEqual(2);
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    expect(stderr.split('\n').filter((line) => /Unknown|Invalid|Failed to parse/.test(line))).toEqual([]);
  });
});

describe('deploy/Dockerfile', () => {
  const lines = read('deploy/Dockerfile').split('\n');

  test('The base image is an argument, the user has no rights, and health check, signal and labels are set', () => {
    expect(lines).toEqual(
      expect.arrayContaining([
        'ARG NODE_IMAGE=node:24-trixie-slim',
        'USER 10001:10001',
        'STOPSIGNAL SIGTERM',
        'VOLUME /data',
      ]),
    );
    expect(lines.filter((line) => line.startsWith('FROM '))).toEqual([
      'FROM ${NODE_IMAGE} AS build',
      'FROM ${NODE_IMAGE}',
    ]);
    expect(read('deploy/Dockerfile')).not.toContain(':latest');
    const label = read('deploy/Dockerfile');
    for (const name of ['title', 'description', 'licenses', 'version', 'revision']) {
      expect(label).toContain(`org.opencontainers.image.${name}=`);
    }
    // The user is set after everything that root does.
    expect(lines.findIndex((line) => line.startsWith('USER'))).toBeGreaterThan(
      lines.findLastIndex((line) => line.startsWith('RUN')),
    );
    expect(HEALTH_CHECK).toEqual(['node', 'dist/app/main.js', 'health']);
  });

  test('Only the binaries of the model runtime for this system stay', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-prune-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const bin = join(folder, 'onnxruntime-node/bin/napi-v6');
    for (const place of ['darwin/arm64', 'linux/x64', 'linux/arm64', 'win32/x64'])
      mkdirSync(join(bin, place), { recursive: true });
    mkdirSync(join(bin, process.platform, process.arch), { recursive: true });
    const words = [join(ROOT, 'dist/scripts/prune-binaries.js'), folder];
    expect(spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout).toMatch(/^removed: .*win32 x64/);
    expect(readdirSync(join(bin, process.platform))).toEqual([process.arch]);
    expect(spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout).toBe('nothing to remove\n');
  });
});

describe('deploy/compose.yaml', () => {
  test.skipIf(!HAS_YAML)(
    'One node with a volume runs on a read-only tree, and only this machine reaches its port',
    () => {
      const { services } = parse('deploy/compose.yaml') as { services: Record<string, Record<string, unknown>> };
      expect(Object.keys(services)).toEqual(['gatehouse']);
      expect(services['gatehouse']).toMatchObject({
        read_only: true,
        ports: ['127.0.0.1:8080:8080'],
        volumes: ['data:/data'],
        cap_drop: ['ALL'],
        tmpfs: [expect.stringMatching(/^\/tmp:exec/)],
      });
    },
  );
});

/** Metrics of docs/operating.md without a panel: totals of which a rate says little, and details for a search. */
const NO_PANEL = [
  'backup_bytes',
  'backups',
  'cell_decisions_total',
  'cluster_commands_total',
  'cluster_deliveries_held',
  'cluster_deliveries_taken_over_total',
  'cluster_extractions_taken_over_total',
  'cluster_ids_dropped_total',
  'cluster_ids_waiting',
  'cluster_job_log_put_back_total',
  'cluster_jobs_incomplete',
  'cluster_outages_total',
  'cluster_questions_total',
  'cluster_refused_values_total',
  'cluster_stores',
  'cluster_unreadable_deliveries',
  'data_feed_age_days',
  'data_feed_held',
  'decision_log_rows',
  'extraction_bytes_total',
  'extraction_domains',
  'extraction_results_waiting',
  'extraction_steps_in_flight',
  'extraction_stored_bytes',
  'feed_broken_entries_total',
  'feed_lag_seconds',
  'feed_nodes',
  'feed_position',
  'gate_total',
  'ignored_members_total',
  'inline_batches_total',
  'keys',
  'look_ups_total',
  'model_alarms_total',
  'model_refused',
  'model_silenced_total',
  'model_silent_customers',
  'model_state',
  'replay_ids',
  'rules_tripped_total',
  'sightings_waiting',
  'tls_certificate_expiry_seconds',
  'velocity_exchange_applied_total',
  'velocity_exchange_bytes_sent_total',
  'velocity_exchange_dropped_total',
  'velocity_exchange_entries_sent_total',
  'velocity_exchange_gaps_total',
  'velocity_exchange_too_old_total',
  'velocity_exchange_unread_streams',
  'velocity_exchange_unreadable_total',
  'velocity_exchange_waiting',
  'webhook_connections_opened_total',
  'webhook_connections_reused_total',
  'webhook_filtered_total',
  'webhook_held_deliveries',
  'webhook_skipped_unrecorded_total',
  'webhook_warnings_total',
];

describe('deploy/grafana/gatehouse.json', () => {
  const text = read('deploy/grafana/gatehouse.json');
  const board = JSON.parse(text) as {
    panels: { id: number; title: string; gridPos: { x: number; w: number }; targets?: { expr: string }[] }[];
    templating: { list: { name: string }[] };
  };
  const baseOf = (name: string): string => name.replace(/_(bucket|sum|count)$/, '');
  // A test of the metrics compares this page with what servers have.
  const documented = new Set(
    [...read('docs/operating.md').matchAll(/^\| `(gatehouse_[a-z_]+)`/gm)].map(([, name = '']) => name),
  );

  test('Every metric in it exists, and those without a panel are listed', () => {
    const used = new Set([...text.matchAll(/\bgatehouse_[a-z_]+/g)].map(([name]) => baseOf(name)));
    expect([...used].filter((name) => !documented.has(name))).toEqual([]);
    expect([...documented].filter((name) => !used.has(name)).toSorted()).toEqual(
      NO_PANEL.map((name) => `gatehouse_${name}`),
    );
  });

  test('Panels have titles and ids of their own and lie within the grid, and the data source is a variable', () => {
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
    expect(new Set(board.panels.map(({ title }) => title)).size).toBeGreaterThan(40);
    for (const { gridPos } of board.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    expect(board.templating.list.map(({ name }) => name)).toEqual(['datasource', 'instance']);
    expect(text).not.toMatch(/"uid": "(?!\$\{datasource\}|gatehouse")/);
  });

  test.skipIf(!HAS_PROMTOOL)('Every expression is valid', () => {
    const expressions = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(60);
    const rules = expressions.map((expr, at) => ({
      record: `gatehouse:panel_${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }));
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-board-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'rules.json');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules }] }));
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('deploy/chart', () => {
  const TEMPLATES = readdirSync(join(ROOT, 'deploy/chart/templates'));

  /** Renders the part of the template language that the chart uses; another action fails. */
  function render(template: string, values: object): string {
    const root = { Values: values, Release: { Name: 'shop' } };
    const get = (path: string): unknown =>
      path
        .split('.')
        .reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>> | undefined)?.[name], root);
    const indented = (text: string, columns: number): string =>
      `\n${text.trimEnd()}`.replaceAll('\n', `\n${' '.repeat(columns)}`);
    const evaluate = (action: string): string => {
      const [, path, quoted] = /^\.([\w.]+)( \| quote)?$/.exec(action) ?? [];
      if (path !== undefined) return quoted === undefined ? String(get(path)) : JSON.stringify(String(get(path)));
      if (action.startsWith('printf "%s:%s"')) return JSON.stringify(`${String(get('Values.image.repository'))}:x`);
      const [, yaml, columns] = /^toYaml \.([\w.]+) \| nindent (\d+)$/.exec(action) ?? [];
      if (yaml !== undefined) return indented(JSON.stringify(get(yaml)), Number(columns));
      if (action === '.Files.Get "alerts.yaml" | nindent 2') return indented(read('deploy/chart/alerts.yaml'), 2);
      throw new Error(`the chart uses an action that this test does not know: ${action}`);
    };
    const out: string[] = [];
    const open: boolean[] = [];
    for (const line of template.split('\n')) {
      const [, block, condition = ''] = /^\s*\{\{- (if|else|end|range)\b ?(.*?) ?\}\}$/.exec(line) ?? [];
      if (block === 'if') open.push(Boolean(get(condition.slice(1))));
      else if (block === 'range') open.push(false);
      else if (block === 'else') open.push(!open.pop());
      else if (block === 'end') open.pop();
      else if (!open.includes(false))
        out.push(line.replaceAll(/\{\{-? (.*?) \}\}/g, (_all, action: string) => evaluate(action)));
    }
    expect(open).toEqual([]);
    return out.join('\n');
  }

  function parsed(yaml: string): unknown {
    const program = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))';
    const { status, stdout, stderr } = spawnSync('python3', ['-c', program], { encoding: 'utf8', input: yaml });
    expect([status, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  }

  const CLUSTER = { enabled: true, replicas: 3, url: 'redis://valkey:6379' };
  const ON = { enabled: true };

  test.skipIf(!HAS_YAML)('Every template is valid with its flag, and all but two are empty without', () => {
    const values = parse('deploy/chart/values.yaml') as Readonly<Record<string, object>>;
    const all = {
      ...values,
      cluster: CLUSTER,
      existingSecret: 'secrets',
      serviceMonitor: { ...values['serviceMonitor'], ...ON },
      prometheusRule: ON,
      networkPolicy: ON,
    };
    const kinds = TEMPLATES.map((name) => {
      const text = read(`deploy/chart/templates/${name}`);
      const without = parsed(render(text, values)) as { kind: string } | null;
      const { kind } = parsed(render(text, all)) as { kind: string };
      return [kind, without?.kind ?? null];
    });
    expect(Object.fromEntries(kinds)).toEqual({
      StatefulSet: 'StatefulSet',
      Service: 'Service',
      ServiceMonitor: null,
      PrometheusRule: null,
      NetworkPolicy: null,
    });
  });

  test.skipIf(!HAS_YAML)(
    'One node by default, several with a store, each without rights and on a read-only tree',
    () => {
      const values = parse('deploy/chart/values.yaml') as object;
      const template = read('deploy/chart/templates/statefulset.yaml');
      const one = parsed(render(template, values));
      expect(one).toMatchObject({
        spec: { replicas: 1, template: { spec: { securityContext: { runAsUser: 10_001, runAsNonRoot: true } } } },
      });
      expect(JSON.stringify(one)).toContain('"readOnlyRootFilesystem":true');
      const three = parsed(render(template, { ...values, cluster: CLUSTER }));
      expect(three).toMatchObject({ spec: { replicas: 3 } });
      expect(JSON.stringify(three)).toContain('{"name":"GATEHOUSE_CLUSTER_URL","value":"redis://valkey:6379"}');
    },
  );

  test.skipIf(!HAS_HELM)('helm finds no fault in it', () => {
    expect(spawnSync('helm', ['lint', join(ROOT, 'deploy/chart')]).status).toBe(0);
  });
});
