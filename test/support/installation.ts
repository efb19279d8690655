import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the names of the optional dependencies in package.json. */
export function optionalPackages(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  return Object.keys(manifest.optionalDependencies);
}

export interface TestInstallation {
  readonly folder: string;
  /** Path of its command line. */
  readonly main: string;
}

/** Copies the bundle into a folder with links to all installed packages except those for which `without` returns true. */
export function installWithout(without: (name: string) => boolean): TestInstallation {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-install-'));
  cpSync(join(ROOT, 'dist/app'), join(folder, 'dist/app'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  const modules = join(ROOT, 'node_modules');
  for (const entry of readdirSync(modules)) {
    if (entry.startsWith('.')) continue;
    const names = entry.startsWith('@') ? readdirSync(join(modules, entry)).map((name) => `${entry}/${name}`) : [entry];
    for (const name of names) {
      if (without(name)) continue;
      const target = join(folder, 'node_modules', name);
      mkdirSync(dirname(target), { recursive: true });
      symlinkSync(join(modules, name), target);
    }
  }
  return { folder, main: join(folder, 'dist/app/main.js') };
}

/** Adds code at the end of a program of an installation. */
export function appendToProgram({ folder }: Pick<TestInstallation, 'folder'>, name: string, code: string): void {
  appendFileSync(join(folder, 'dist/app', `${name}.js`), code);
}

/** Adds code at the end of the file of an installation that has this class, for all threads that use it. */
export function appendToClass({ folder }: Pick<TestInstallation, 'folder'>, name: string, code: string): void {
  const programs = join(folder, 'dist/app');
  const has = (file: string): boolean =>
    file.endsWith('.js') && readFileSync(join(programs, file), 'utf8').includes(`\nvar ${name} = class `);
  const file = readdirSync(programs).find(has);
  if (file === undefined) throw new Error(`no program has the class ${name}`);
  appendFileSync(join(programs, file), code);
}
