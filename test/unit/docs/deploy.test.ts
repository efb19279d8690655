import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
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

describe('deploy/compose.yaml', () => {
  test.skipIf(!HAS_YAML)('Three nodes with a name and a volume each share a store and stand behind a balancer', () => {
    const { services, volumes } = parse('deploy/compose.yaml') as {
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

  test.skipIf(!HAS_YAML)('The health check of a node is a command that follows the status of /readyz', async () => {
    const { services } = parse('deploy/compose.yaml') as {
      services: Record<string, { healthcheck: { test: readonly string[] } }>;
    };
    const [kind, program = '', ...words] = services['node-1']?.healthcheck.test ?? [];
    expect([kind, program, words.map((word) => typeof word)]).toEqual(['CMD', 'node', ['string', 'string']]);
    let status = 200;
    const server = createServer((req, res) => res.writeHead(req.url === '/readyz' ? status : 404).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const codeOf = async (): Promise<unknown> => {
      const child = spawn(
        process.execPath,
        words.map((word) => word.replace('127.0.0.1:8080', `127.0.0.1:${port}`)),
      );
      return (await once(child, 'exit'))[0];
    };
    expect(await codeOf()).toBe(0);
    status = 503;
    expect(await codeOf()).toBe(1);
    server.closeAllConnections();
    await once(server.close(), 'close');
    expect(await codeOf()).toBe(1);
  });

  test.skipIf(!HAS_YAML)('Secrets of the nodes reach neither the store nor the image', () => {
    const { services } = parse('deploy/compose.yaml') as {
      services: Record<string, { environment?: Record<string, string>; env_file?: string }>;
    };
    const { environment = {}, env_file: file } = services['valkey'] ?? {};
    expect([Object.keys(environment), file]).toEqual([['GATEHOUSE_CLUSTER_PASSWORD'], undefined]);
    const linesOf = (path: string): readonly string[] => read(path).split('\n');
    expect(linesOf('.dockerignore')).toEqual(expect.arrayContaining(['deploy/cluster.env', 'node_modules', 'data']));
    expect(linesOf('.gitignore')).toContain('/deploy/cluster.env');
  });

  test('Every file that it names is in the repository', () => {
    const mounted = [...read('deploy/compose.yaml').matchAll(/^ +- \.\/(\S+):\//gm)].map(([, path = '']) => path);
    const named = [...mounted, 'Dockerfile', 'cluster.env.example'];
    expect(named.filter((path) => !existsSync(join(ROOT, 'deploy', path)))).toEqual([]);
  });

  test('Every setting in deploy exists', () => {
    const text = ['compose.yaml', 'cluster.env.example', 'Dockerfile'].map((name) => read(`deploy/${name}`)).join('\n');
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

describe('the systemd unit in docs/operating.md', () => {
  const unit = read('docs/operating.md').match(/```ini\n(\[Unit\][^]*?)```/)?.[1] ?? '';

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
});
