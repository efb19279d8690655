import { isAscii } from 'node:buffer';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeCodeCaches } from '../../../scripts/code-cache.ts';
import { bodyFile, CACHED_OPTIONS, cacheFile, loadProgram, wrapProgram } from '../../../src/kernel/load-program.ts';
import { startNode } from '../../support/server.ts';

const LOADER = fileURLToPath(new URL('../../../dist/app/load-program.cjs', import.meta.url));
const BODY = `const { sep } = require('node:path');
exports.answer = () => 41 + 1;
exports.fail = () => { throw new Error('é fails'); };
exports.place = [sep, __filename, __dirname];
`;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-program-'));
  writeProgram(BODY);
  cpSync(LOADER, join(folder, 'load-program.cjs'));
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

function writeProgram(text: string): void {
  writeFileSync(bodyFile(folder, 'it'), wrapProgram(text));
}

/** What a new process with these options of Node.js loads, and whether V8 accepted the cache that it was offered. */
function load(...options: readonly string[]): {
  readonly answer: number;
  readonly cache: string;
  readonly stack: string;
} {
  const code = `
    const vm = require('node:vm');
    let cache = 'none';
    const { Script } = vm;
    vm.Script = class extends Script {
      constructor(text, options) {
        super(text, options);
        if (options.cachedData) cache = this.cachedDataRejected ? 'rejected' : 'accepted';
      }
    };
    const it = require('./load-program.cjs').loadProgram(${JSON.stringify(folder)}, 'it');
    let stack = '';
    try { it.fail(); } catch (error) { ({ stack } = error); }
    console.log(JSON.stringify({ answer: it.answer(), cache, stack }));`;
  const out = execFileSync(process.execPath, [...options, '-e', code], { cwd: folder, encoding: 'utf8' });
  return JSON.parse(out) as ReturnType<typeof load>;
}

describe('a program of the bundle', () => {
  test('A program is loaded as Node.js loads a CommonJS file', () => {
    const it = loadProgram(folder, 'it') as { answer(): number; place: readonly string[] };
    expect(it.answer()).toBe(42);
    expect(it.place).toEqual(['/', bodyFile(folder, 'it'), folder]);
  });

  test('A stack trace has the same lines and columns with and without a cache, also in the first line', () => {
    writeProgram(`exports.fail = function fail() { throw new Error('é'); };exports.answer = () => 1;`);
    const without = load();
    writeCodeCaches(folder, 'it');
    const withCache = load();
    expect([without.cache, withCache.cache]).toEqual(['none', 'accepted']);
    expect(without.stack).toContain(`${bodyFile(folder, 'it')}:1:40`);
    expect(withCache.stack).toBe(without.stack);
  });

  test('The cache is accepted with the options of npm start and without, and not with others', () => {
    const files = writeCodeCaches(folder, 'it');
    expect(files).toEqual([cacheFile(folder, 'it', []), cacheFile(folder, 'it', [CACHED_OPTIONS])]);
    expect(load()).toMatchObject({ answer: 42, cache: 'accepted' });
    expect(load(CACHED_OPTIONS)).toMatchObject({ answer: 42, cache: 'accepted' });
    expect(load('--max-old-space-size=100')).toMatchObject({ answer: 42, cache: 'rejected' });
  });

  test('The cache of another program of the same length is not used', () => {
    writeCodeCaches(folder, 'it');
    writeProgram(BODY.replace('41 + 1', '41 + 2'));
    expect(load()).toMatchObject({ answer: 43, cache: 'none' });
  });

  test.each([0, 7, 8, 100, 500])('A cache with a damaged byte, or cut off before it, is not used (byte %i)', (at) => {
    writeCodeCaches(folder, 'it');
    const file = cacheFile(folder, 'it', []);
    const bytes = readFileSync(file);
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x55;
    for (const wrong of [damaged, bytes.subarray(0, at)]) {
      writeFileSync(file, wrong);
      expect(load()).toMatchObject({ answer: 42, cache: 'none' });
    }
  });

  test('Loading writes nothing', () => {
    const before = readdirSync(folder);
    chmodSync(folder, 0o500);
    expect(load().answer).toBe(42);
    expect(readdirSync(folder)).toEqual(before);
  });

  test('With source maps, Node.js loads the program, so that traces name the original lines', () => {
    const map = { version: 3, sources: ['origin.ts'], names: [], mappings: ';AACA;AACA' };
    const inline = Buffer.from(JSON.stringify(map)).toString('base64');
    writeProgram(
      `\nexports.fail = () => { throw new Error('é'); };\nexports.answer = () => 1;\n//# sourceMappingURL=data:application/json;base64,${inline}\n`,
    );
    writeCodeCaches(folder, 'it');
    expect(load('--enable-source-maps')).toMatchObject({
      cache: 'none',
      stack: expect.stringContaining('origin.ts:2'),
    });
  });
});

test.each([[[]], [[CACHED_OPTIONS]]])('The caches of the build are accepted with the options %j', (options) => {
  const app = fileURLToPath(new URL('../../../dist/app', import.meta.url));
  const code = `
    const vm = require('node:vm');
    const taken = {};
    const { Script } = vm;
    vm.Script = class extends Script {
      constructor(text, options) {
        super(text, options);
        taken[options.filename] = options.cachedData !== undefined && this.cachedDataRejected === false;
      }
      runInThisContext() {
        return () => {};
      }
    };
    const { loadProgram } = require('./load-program.cjs');
    for (const name of process.argv.slice(1)) loadProgram(${JSON.stringify(app)}, name);
    console.log(JSON.stringify(taken));`;
  const names = readdirSync(app)
    .filter((file) => file.endsWith('-body.cjs'))
    .map((file) => file.slice(0, -'-body.cjs'.length));
  expect(names).toContain('serve');
  const out = execFileSync(process.execPath, [...options, '-e', code, ...names], { cwd: app, encoding: 'utf8' });
  expect(JSON.parse(out)).toEqual(Object.fromEntries(names.map((name) => [bodyFile(app, name), true])));
});

test('A running server and its score thread use their caches', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-preload-'));
  const preload = join(folder, 'preload.cjs');
  writeFileSync(
    preload,
    `const vm = require('node:vm');
    const { Script } = vm;
    vm.Script = class extends Script {
      constructor(text, options) {
        super(text, options);
        process._rawDebug(options.filename + ' ' + (this.cachedDataRejected === false ? 'accepted' : 'refused'));
      }
    };`,
  );
  const server = await startNode({ nodeFlags: ['--require', preload] });
  try {
    const said = [...server.stderr().matchAll(/(\w+)-body\.cjs (accepted|refused)/g)].map(([, name, how]) => [
      name,
      how,
    ]);
    expect(said).toEqual([
      ['serve', 'accepted'],
      ['score', 'accepted'],
    ]);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
});

test('The programs are single-byte text', () => {
  const app = fileURLToPath(new URL('../../../dist/app', import.meta.url));
  const programs = readdirSync(app).filter((file) => file.endsWith('-body.cjs'));
  expect(programs.length).toBeGreaterThan(5);
  expect(programs.filter((file) => !isAscii(readFileSync(join(app, file))))).toEqual([]);
});
