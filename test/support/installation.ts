import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The optional dependencies that package.json names. */
export function optionalPackages(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  return Object.keys(manifest.optionalDependencies);
}

/** A copy of the build beside links to all installed packages but those for which `without` says yes. Gives its main.js. */
export function installWithout(without: (name: string) => boolean): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-install-'));
  cpSync(join(ROOT, 'dist', 'src'), join(folder, 'dist', 'src'), { recursive: true });
  cpSync(join(ROOT, 'dist', 'workers'), join(folder, 'dist', 'workers'), { recursive: true });
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
  return join(folder, 'dist', 'src', 'cli', 'main.js');
}
